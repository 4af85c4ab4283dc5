"""The routes, and what stands before each: host name, token, bounds, counting."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from acclimate import __version__
from acclimate.model.text_tagger import Entities
from acclimate.serving.batching import Batcher
from acclimate.serving.errors import Json, Refusal, internal, too_slow, unknown_model
from acclimate.serving.guard import Guard
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
from acclimate.serving.settings import ServerSettings
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


def _asset(name: str, media_type: str) -> Callable[[Service, Request], Awaitable[Response]]:
    async def asset(service: Service, request: Request) -> Response:
        texts = [files("acclimate").joinpath(file).read_text(encoding="utf-8") for file in _ASSETS[name]]
        return Response("\n".join(texts), media_type=media_type)

    return asset


# the page looks like a report, and so it has a report's style
_ASSETS = {
    "page.css": ("reporting/charts.css", "reporting/page.css", "serving/page/page.css"),
    "page.js": ("serving/page/page.js",),
    "icon.svg": ("serving/page/icon.svg",),
}
OPEN = {"/", "/health", "/openapi.json", *(f"/assets/{name}" for name in _ASSETS)}  # without a token: no text, no model

ROUTES: dict[str, tuple[str, Callable[[Service, Request], Awaitable[Response]]]] = {
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
    "/assets/page.css": ("GET", _asset("page.css", "text/css")),
    "/assets/page.js": ("GET", _asset("page.js", "text/javascript")),
    "/assets/icon.svg": ("GET", _asset("icon.svg", "image/svg+xml")),
}


def build_app(service: Service, hosts: Sequence[str] = (), token: str | None = None) -> Any:
    """The whole application. `hosts` are the names that it answers to, any where there are none."""

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        service.start()
        yield
        service.begin_to_stop()
        service.abandon()

    app = Starlette(
        routes=[Route(path, partial(act, service), methods=[method]) for path, (method, act) in ROUTES.items()],
        exception_handlers={HTTPException: _no_route, Refusal: _refused, Exception: _failed},
        lifespan=running,
    )
    return Guard(app, service, routes=set(ROUTES), open_routes=OPEN, hosts=hosts, token=token)


async def _no_route(request: Request, failure: Exception) -> Response:
    assert isinstance(failure, HTTPException)
    path = request.url.path
    if failure.status_code == 405:
        methods = dict(failure.headers or {})
        allowed = methods.get("Allow", methods.get("allow", ""))
        return Refusal(
            405, "wrong_method", f"{path} does not take {request.method}, but {allowed}.", methods
        ).response()
    return Refusal(404, "no_such_route", f"There is no {path} here. GET /openapi.json lists what there is.").response()


async def _refused(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)
    return refusal.response()


async def _failed(request: Request, failure: Exception) -> Response:
    return internal().response()
