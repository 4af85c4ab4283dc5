"""What every server's application shares: routes behind a guard, failures as answers, pages and their files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from acclimate.serving.errors import Refusal, internal
from acclimate.serving.guard import Guard, Guarded
from acclimate.serving.settings import AccessSettings


class Served(Guarded, Protocol):
    """What a server must know of the service behind it."""

    @property
    def access(self) -> AccessSettings: ...

    def start(self) -> None: ...

    def begin_to_stop(self) -> None:
        """Take no more requests; those that are here go on for a while."""

    def abandon(self) -> None:
        """Give up whatever is still in work."""

    def join(self, seconds: float) -> bool:
        """Whether all threads have ended within the time."""


Act = Callable[[Any, Request], Awaitable[Response]]
Routes = Mapping[str, tuple[str, Act]]  # path → method and what answers


def application(
    service: Served,
    routes: Routes,
    open_routes: Collection[str],
    hosts: Sequence[str] = (),
    token: str | None = None,
    advice: str = "",
) -> Any:
    """The whole application. `hosts` are the names that it answers to, any where there are none. `open_routes` need no
    token. `advice` is for whoever asks for what is not there."""

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(service.start)
        yield
        service.begin_to_stop()
        service.abandon()

    async def no_route(request: Request, failure: Exception) -> Response:
        assert isinstance(failure, HTTPException)
        return _no_route(request, failure, advice)

    app = Starlette(
        routes=[Route(path, partial(act, service), methods=[method]) for path, (method, act) in routes.items()],
        exception_handlers={HTTPException: no_route, Refusal: _refused, Exception: _failed},
        lifespan=running,
    )
    return Guard(app, service, routes=set(routes), open_routes=open_routes, hosts=hosts, token=token)


def asset(names: Sequence[str], media_type: str) -> Act:
    """Answers with files of the package, one after the other."""

    async def answer(service: Any, request: Request) -> Response:
        return Response(text_of(names), media_type=media_type)

    return answer


def text_of(names: Sequence[str]) -> str:
    """Files of the package, one after the other."""
    return "\n".join(files("acclimate").joinpath(name).read_text(encoding="utf-8") for name in names)


# all pages look like a report, and so they have a report's style
PAGE_STYLE = ("reporting/charts.css", "reporting/page.css")


def _no_route(request: Request, failure: HTTPException, advice: str) -> Response:
    path = request.url.path
    if failure.status_code == 405:
        methods = dict(failure.headers or {})
        allowed = methods.get("Allow", methods.get("allow", ""))
        return Refusal(
            405, "wrong_method", f"{path} does not take {request.method}, but {allowed}.", methods
        ).response()
    return Refusal(404, "no_such_route", f"There is no {path} here. {advice}".rstrip()).response()


async def _refused(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)
    return refusal.response()


async def _failed(request: Request, failure: Exception) -> Response:
    return internal().response()
