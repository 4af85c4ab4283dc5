"""The taggers that are served, and the routes to them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import Response

from acclimate import __version__
from acclimate.model.text_tagger import Entities
from acclimate.serving.application import PAGE_STYLE, Routes, application, asset
from acclimate.serving.batching import Batcher
from acclimate.serving.errors import Json, too_slow, unknown_model
from acclimate.serving.label_studio import (
    Interface,
    PredictAnswer,
    PredictRequest,
    SetupAnswer,
    SetupRequest,
    WebhookAnswer,
    WebhookRequest,
    version_of,
)
from acclimate.serving.metrics import CONTENT_TYPE, Metrics
from acclimate.serving.openapi import describe
from acclimate.serving.requests import EntitiesRequest, TagsRequest, count_words, dumped, read_json
from acclimate.serving.settings import AccessSettings, ServerSettings
from acclimate.serving.taggers import ServedTagger

log = logging.getLogger("acclimate.serving")


class Service:
    """The taggers with their queues; it knows no routes."""

    def __init__(self, taggers: Sequence[ServedTagger], settings: ServerSettings) -> None:
        self.taggers = {one.name: one for one in taggers}
        self.settings, self.metrics = settings, Metrics()
        self.batchers = {
            name: Batcher(name, settings, self.metrics, alone=one.reads_alone) for name, one in self.taggers.items()
        }
        self.is_ready = self.is_stopping = False
        self.counted = self.metrics.request

    @property
    def access(self) -> AccessSettings:
        return self.settings

    def start(self) -> None:
        for batcher in self.batchers.values():
            batcher.start()
        self.is_ready = True

    def begin_to_stop(self) -> None:
        """Take no more requests; those that are here go on for a while."""
        self.is_stopping, self.is_ready = True, False

    def abandon(self) -> None:
        for batcher in self.batchers.values():
            batcher.abandon()

    def join(self, seconds: float) -> bool:
        """Whether all threads have ended."""
        return all(batcher.join(seconds) for batcher in self.batchers.values())

    def tagger(self, name: str | None) -> ServedTagger:
        if name is None:
            return next(iter(self.taggers.values()))
        if name not in self.taggers:
            raise unknown_model(name, list(self.taggers))
        return self.taggers[name]

    async def entities(self, tagger: ServedTagger, texts: Sequence[str]) -> list[Entities]:
        return await self._ask(tagger.name, tagger.entities, texts)

    async def tags(self, tagger: ServedTagger, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        return await self._ask(tagger.name, tagger.tags, sentences)

    async def _ask(self, name: str, ask: Callable[[Any], Any], contents: Sequence[Any]) -> list[Any]:
        seconds = self.settings.request_seconds
        try:
            async with asyncio.timeout(seconds):
                sizes = await count_words(contents, self.settings)
                return await self.batchers[name].ask(ask, contents, sizes)
        except TimeoutError:
            raise too_slow(seconds) from None


async def entities(service: Service, request: Request) -> Response:
    asked = await read_json(request, EntitiesRequest, service.settings)
    tagger = service.tagger(asked.model)
    found = [[_entity(each) for each in text] for text in await service.entities(tagger, asked.many)]
    return Json({"model": tagger.name, "entities": found[0] if asked.is_one else found})


def _entity(entity: Any) -> dict[str, Any]:
    score = min(1.0, max(0.0, entity.score))  # rounding may leave it a hair outside
    return {"label": entity.label, "text": entity.text, "start": entity.start, "end": entity.end, "score": score}


async def tags(service: Service, request: Request) -> Response:
    asked = await read_json(request, TagsRequest, service.settings)
    tagger = service.tagger(asked.model)
    found = await service.tags(tagger, asked.many)
    return Json({"model": tagger.name, "tags": found[0] if asked.is_one else found})


async def models(service: Service, request: Request) -> Response:
    return Json({"models": [tagger.as_dict() for tagger in service.taggers.values()]})


async def health(service: Service, request: Request) -> Response:
    status = "UP" if service.is_ready else "DOWN"
    about = {"status": status, "ready": service.is_ready, "model_class": "acclimate", "models": list(service.taggers)}
    return Json(about, 200 if service.is_ready else 503)


async def metrics(service: Service, request: Request) -> Response:
    waiting = {name: batcher.waiting for name, batcher in service.batchers.items()}
    return Response(service.metrics.render(waiting), media_type=CONTENT_TYPE)


async def openapi(service: Service, request: Request) -> Response:
    return Json(describe(service.settings))


async def predict(service: Service, request: Request) -> Response:
    """Label Studio asks for predictions."""
    asked = await read_json(request, PredictRequest, service.settings)
    tagger = service.tagger(None)
    interface = Interface.of(asked.label_config, tagger.tagger.labels)
    texts = [interface.text_of(task, number) for number, task in enumerate(asked.tasks)]
    version = version_of(tagger.name)
    results = [interface.prediction(found, version) for found in await service.entities(tagger, texts)]
    left_out = interface.left_out(tagger.tagger.labels)
    return Json(dumped(PredictAnswer(model_version=version, results=results, left_out=left_out)))


async def setup(service: Service, request: Request) -> Response:
    """Label Studio connects. It sends no interface where a project has none yet."""
    asked = await read_json(request, SetupRequest, service.settings)
    tagger = service.tagger(None)
    labels = tagger.tagger.labels
    left_out = Interface.of(asked.interface, labels).left_out(labels) if asked.interface.strip() else []
    if left_out:
        log.warning("the labelling interface has no label for %s: these are left out", ", ".join(left_out))
    return Json(dumped(SetupAnswer(model_version=version_of(tagger.name), left_out=left_out)))


async def webhook(service: Service, request: Request) -> Response:
    await read_json(request, WebhookRequest, service.settings)
    return Json(dumped(WebhookAnswer(status="ok", message="Heard. This server does not learn from annotations.")))


async def page(service: Service, request: Request) -> Response:
    environment = Environment(loader=PackageLoader("acclimate.serving", "page"), autoescape=True)
    return Response(environment.get_template("page.html.j2").render(version=__version__), media_type="text/html")


# name → files of the package, and what they are
_ASSETS = {
    "page.css": ((*PAGE_STYLE, "serving/page/page.css"), "text/css"),
    "page.js": (("serving/page/page.js",), "text/javascript"),
    "icon.svg": (("serving/page/icon.svg",), "image/svg+xml"),
}
OPEN = {"/", "/health", "/openapi.json", *(f"/assets/{name}" for name in _ASSETS)}  # without a token: no text, no model

ROUTES: Routes = {
    "/v1/entities": ("POST", entities),
    "/v1/tags": ("POST", tags),
    "/v1/models": ("GET", models),
    "/health": ("GET", health),
    "/metrics": ("GET", metrics),
    "/openapi.json": ("GET", openapi),
    "/predict": ("POST", predict),
    "/setup": ("POST", setup),
    "/webhook": ("POST", webhook),
    "/": ("GET", page),
    **{f"/assets/{name}": ("GET", asset(*found)) for name, found in _ASSETS.items()},
}


def build_app(service: Service, hosts: Sequence[str] = (), token: str | None = None) -> Any:
    """The whole application. `hosts` are the names that it answers to, any where there are none."""
    return application(service, ROUTES, OPEN, hosts, token, "GET /openapi.json lists what there is.")
