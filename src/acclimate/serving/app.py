"""The taggers that are served, and the interface to them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from starlette.responses import Response

from acclimate.data.words import find_words
from acclimate.serving.application import PAGE_STYLE, Application, Operation, Served, page_operations
from acclimate.serving.batching import Batcher
from acclimate.serving.bodies import INLINE, Refusal
from acclimate.serving.label_studio import (
    Interface,
    PredictAnswer,
    PredictRequest,
    SetupAnswer,
    SetupRequest,
    WebhookRequest,
    version_of,
)
from acclimate.serving.metrics import CONTENT_TYPE, Metrics
from acclimate.serving.openapi import describe
from acclimate.serving.requests import (
    EntitiesAnswer,
    EntitiesRequest,
    HealthAnswer,
    ModelsAnswer,
    TagsAnswer,
    TagsRequest,
)
from acclimate.serving.settings import ServerSettings
from acclimate.serving.taggers import ServedTagger

log = logging.getLogger("acclimate.serving")


class Service(Served):
    """The taggers with their queues."""

    def __init__(self, taggers: Sequence[ServedTagger], settings: ServerSettings) -> None:
        super().__init__(settings)
        self.taggers = {one.name: one for one in taggers}
        self.settings, self.metrics = settings, Metrics()
        self.batchers = {name: Batcher(one, settings, self.metrics) for name, one in self.taggers.items()}

    def counted(self, route: str, method: str, status: int, seconds: float) -> None:
        self.metrics.request(route, method, status, seconds)

    def abandon(self) -> None:
        for batcher in self.batchers.values():
            batcher.abandon()

    def join(self, seconds: float) -> bool:
        return all(batcher.join(seconds) for batcher in self.batchers.values())

    @property
    def first(self) -> ServedTagger:
        """The tagger that answers where a request names none."""
        return next(iter(self.taggers.values()))

    def tagger(self, name: str | None) -> ServedTagger:
        if name is not None and name not in self.taggers:
            known = ", ".join(self.taggers)
            raise Refusal(404, "unknown_model", f"model: there is no {name!r} here, only {known}.")
        return self.first if name is None else self.taggers[name]

    async def ask(self, tagger: ServedTagger, ask: Callable[[Any], Any], inputs: Sequence[Any]) -> list[Any]:
        """What a method of the tagger answers to each input, by batches that requests share."""
        seconds = self.settings.request_seconds
        try:
            async with asyncio.timeout(seconds):
                sizes = await self._count_words(inputs)
                return await self.batchers[tagger.name].ask(ask, inputs, sizes)
        except TimeoutError:
            message = f"No answer within {seconds:g} seconds. Send less text at once, or ask again in a while."
            raise Refusal(503, "too_slow", message, {"Retry-After": "5"}) from None

    async def _count_words(self, inputs: Sequence[str | Sequence[str]]) -> list[int]:
        """The number of words of each text or sentence; a refusal where they are too many."""
        most_texts, most_words = self.settings.max_texts, self.settings.max_words
        if len(inputs) > most_texts:
            raise Refusal(413, "too_many_texts", f"{len(inputs):,} texts at once; at most {most_texts:,} may be.")
        is_short = sum(map(len, inputs)) <= INLINE
        sizes = _sizes(inputs) if is_short else await asyncio.to_thread(_sizes, inputs)
        if sum(sizes) > most_words:
            message = f"{sum(sizes):,} words at once; at most {most_words:,} may be. Send less text at once."
            raise Refusal(413, "too_many_words", message)
        return sizes


def _sizes(inputs: Sequence[str | Sequence[str]]) -> list[int]:
    return [len(find_words(one)) if isinstance(one, str) else len(one) for one in inputs]


# the first lines of these docstrings describe the interface to its clients


async def find_entities(service: Service, asked: EntitiesRequest) -> Any:
    """The entities of a text, or of each of several texts."""
    tagger = service.tagger(asked.model)
    found = await service.ask(tagger, tagger.entities, asked.inputs)
    return {"model": tagger.name, "entities": found[0] if asked.is_one else found}


async def tag_words(service: Service, asked: TagsRequest) -> Any:
    """A tag for each word of sentences that are split already."""
    tagger = service.tagger(asked.model)
    found = await service.ask(tagger, tagger.tags, asked.inputs)
    return {"model": tagger.name, "tags": found[0] if asked.is_one else found}


async def list_models(service: Service) -> Any:
    """The taggers of this server."""
    return {"models": [tagger.as_dict() for tagger in service.taggers.values()]}


async def health(service: Service) -> Any:
    """Whether requests are taken; Label Studio asks this, too."""
    return {"status": "UP", "model_class": "acclimate", "models": list(service.taggers)}


async def metrics(service: Service) -> Response:
    """Counters in the format of Prometheus."""
    waiting = {name: batcher.waiting for name, batcher in service.batchers.items()}
    return Response(service.metrics.render(waiting), media_type=CONTENT_TYPE)


def description(service: Service) -> Any:
    """This description."""
    return describe(INTERFACE, service.settings)


async def predict(service: Service, asked: PredictRequest) -> Any:
    """Label Studio: predictions for tasks."""
    tagger = service.first
    interface = Interface.of(asked.label_config, tagger.tagger.labels)
    texts = [interface.text_of(task, number) for number, task in enumerate(asked.tasks)]
    found = await service.ask(tagger, tagger.entities, texts)
    version = version_of(tagger.name)
    results = [interface.prediction(entities, version) for entities in found]
    return PredictAnswer(model_version=version, results=results, left_out=interface.left_out)


async def setup(service: Service, asked: SetupRequest) -> Any:
    """Label Studio: a project is connected."""
    left_out: list[str] = []
    if asked.interface.strip():  # a project that is new has none yet
        left_out = Interface.of(asked.interface, service.first.tagger.labels).left_out
    if left_out:
        log.warning("the labelling interface has no label for %s: these are left out", ", ".join(left_out))
    return SetupAnswer(model_version=version_of(service.first.name), left_out=left_out)


async def webhook(service: Service, asked: WebhookRequest) -> Any:
    """Label Studio: something happened in a project; nothing is learnt from it."""
    return {"status": "ok", "message": "Heard. This server does not learn from annotations."}


INTERFACE = (
    Operation("/v1/entities", find_entities, EntitiesRequest, EntitiesAnswer, refusals=(404, 429)),
    Operation("/v1/tags", tag_words, TagsRequest, TagsAnswer, refusals=(404, 429)),
    Operation("/v1/models", list_models, answer=ModelsAnswer),
    Operation("/health", health, answer=HealthAnswer, is_open=True),
    Operation("/metrics", metrics, answer="text/plain"),
    Operation("/openapi.json", description, answer="application/json", is_open=True),
    Operation("/predict", predict, PredictRequest, PredictAnswer, refusals=(429,)),
    Operation("/setup", setup, SetupRequest, SetupAnswer),
    Operation("/webhook", webhook, WebhookRequest, "application/json"),
)
PAGE = page_operations("serving/page/page.html.j2", PAGE_STYLE, ["serving/page/dom.js", "serving/page/page.js"])


def build_app(service: Service, hosts: Sequence[str] = (), token: str | None = None) -> Application:
    """The whole application. `hosts` are the names that it answers to, any where there are none."""
    return Application(service, (*INTERFACE, *PAGE), hosts, token, "GET /openapi.json lists what there is.")
