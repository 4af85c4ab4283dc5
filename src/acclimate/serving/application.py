"""What the pages and interfaces of all servers share: every request passes its checks here, and gets its answer."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import inspect
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader
from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from acclimate import __version__
from acclimate.serving.bodies import Json, Refusal, internal, read_json, stopping
from acclimate.serving.settings import AccessSettings

log = logging.getLogger("acclimate.serving")
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Served:
    """What stands behind an application: it begins, is asked, and ends."""

    def __init__(self, access: AccessSettings) -> None:
        self.access = access
        self.is_stopping = False

    def start(self) -> None:
        """Begin before the first request."""

    def begin_to_stop(self) -> None:
        """Take no more requests; those that are here go on for a while."""
        self.is_stopping = True

    def abandon(self) -> None:
        """Give up whatever is still in work."""

    def join(self, seconds: float) -> bool:
        """Whether all threads have ended within the time."""
        return True

    def counted(self, route: str, method: str, status: int, seconds: float) -> None:
        """Hears of every request that was answered."""

    def refusal_of(self, failure: Exception) -> Refusal | None:
        """What is said of a failure that is not the server's own."""
        return None


@dataclass(frozen=True)
class Operation:
    """One route. `act` gets the service and the checked body; it answers with a response, or with what becomes JSON.

    Without a `request` it is a GET. `is_open`: it needs no token. The rest is for the description of an interface: the
    model of the `answer`, or another media type, and the status of `refusals` beside those of all operations."""

    path: str
    act: Callable[..., Any]
    request: type[BaseModel] | None = None
    answer: type[BaseModel] | str = ""
    is_open: bool = False
    refusals: Sequence[int] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        return ("GET", "HEAD") if self.request is None else ("POST",)


class Application:
    """The routes to a service. `hosts` are the names that it answers to, any where there are none.

    `advice` is for whoever asks for what is not there."""

    def __init__(
        self,
        service: Served,
        operations: Sequence[Operation],
        hosts: Sequence[str] = (),
        token: str | None = None,
        advice: str = "",
    ) -> None:
        self.service, self.advice = service, advice
        self.operations = {each.path: each for each in operations}
        self.hosts = {host.lower() for host in hosts}
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await asyncio.to_thread(self.service.start)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.service.begin_to_stop()
        self.service.abandon()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        try:
            response = await self._answer(Request(scope, receive))
        except Exception as failure:
            response = self._refusal_of(failure, scope).response()
        try:
            await response(scope, receive, sending)
        finally:
            known = self.operations.get(scope["path"])
            route = "other" if known is None else known.path
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "other"
            self.service.counted(route, method, status, time.perf_counter() - begun)

    async def _answer(self, request: Request) -> Response:
        operation = self._operation(request)
        given: list[Any] = [self.service]
        if operation.request is not None:
            given.append(await read_json(request, operation.request, self.service.access))
        if inspect.iscoroutinefunction(operation.act):
            found = await operation.act(*given)
        else:  # it may wait for a disk or a lock
            found = await asyncio.to_thread(operation.act, *given)
        if isinstance(found, BaseModel):
            found = found.model_dump()
        return found if isinstance(found, Response) else Json(found)

    def _operation(self, request: Request) -> Operation:
        """What is asked for, by somebody who may ask for it now."""
        path = request.url.path
        operation = self.operations.get(path)
        if self.hosts and _host_of(request.headers.get("host", "")) not in self.hosts:
            message = "The host name that was asked for is not one of this server (--set 'serve.hosts=[NAME]')."
            raise Refusal(400, "wrong_host", message)
        is_open = operation is not None and operation.is_open
        if not is_open and not self._is_allowed(request.headers):
            message = "Send the token of this server: Authorization: Bearer TOKEN."
            raise Refusal(401, "wrong_token", message, {"WWW-Authenticate": "Bearer"})
        if self.service.is_stopping:
            raise stopping()
        if operation is None:
            raise Refusal(404, "no_such_route", f"There is no {path} here. {self.advice}".rstrip())
        if request.method not in operation.methods:
            allowed = ", ".join(operation.methods)
            message = f"{path} does not take {request.method}, but {allowed}."
            raise Refusal(405, "wrong_method", message, {"Allow": allowed})
        return operation

    def _is_allowed(self, headers: Headers) -> bool:
        if self._token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        shown = given.strip().encode("latin-1", "replace")
        if scheme.lower() == "basic":  # Label Studio knows no other way; the token is the password
            try:
                shown = base64.b64decode(shown, validate=True).partition(b":")[2]
            except (binascii.Error, ValueError):
                return False
        elif scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(shown, self._token)

    def _refusal_of(self, failure: Exception, scope: Scope) -> Refusal:
        found = failure if isinstance(failure, Refusal) else self.service.refusal_of(failure)
        if found is None:
            log.error("%s %s failed", scope["method"], scope["path"], exc_info=failure)
        return found or internal()


def _host_of(header: str) -> str:
    """The name without the port: `localhost`, `[::1]`."""
    name, colon, port = header.strip().lower().rpartition(":")
    return name if colon and port.isdigit() and (name.endswith("]") or ":" not in name) else header.strip().lower()


def page_of(template: str, **values: Any) -> str:
    """A page of the package, by the file of its template."""
    folder, _, name = template.rpartition("/")
    environment = Environment(loader=PackageLoader("acclimate", folder), autoescape=True, trim_blocks=True)
    return environment.get_template(name).render(version=__version__, **values)


def text_of(names: Sequence[str]) -> str:
    """Files of the package, one after the other."""
    return "\n".join(files("acclimate").joinpath(name).read_text(encoding="utf-8") for name in names)


def page_operations(template: str, style: Sequence[str], scripts: Sequence[str]) -> list[Operation]:
    """The routes of a page, its style, its script and its icon. They hold no text of anybody's, and need no token."""
    texts = {
        "style.css": (style, "text/css"),
        "script.js": (scripts, "text/javascript"),
        "icon.svg": (["serving/page/icon.svg"], "image/svg+xml"),
    }

    def page(service: Any) -> Response:
        return Response(page_of(template), media_type="text/html")

    def asset(names: Sequence[str], media_type: str) -> Callable[[Any], Response]:
        return lambda service: Response(text_of(names), media_type=media_type)

    assets = [Operation(f"/assets/{name}", asset(*found), is_open=True) for name, found in texts.items()]
    return [Operation("/", page, is_open=True), *assets]


# all pages look like a report, and so they have a report's style
PAGE_STYLE = ("reporting/charts.css", "reporting/page.css", "serving/page/page.css")
