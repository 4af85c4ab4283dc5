"""What every request passes: counting, host name, token, and the answer where something fails."""

from __future__ import annotations

import base64
import binascii
import hmac
import logging
import time
from collections.abc import Collection, Sequence
from typing import Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acclimate.serving.errors import Refusal, internal, stopping

log = logging.getLogger("acclimate.serving")
_METHODS = ("GET", "HEAD", "POST")
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Guarded(Protocol):
    """What the guard must know of a service."""

    is_stopping: bool

    def counted(self, route: str, method: str, status: int, seconds: float) -> None:
        """Hears of every request that was answered."""


class Guard:
    """Stands before an application."""

    def __init__(
        self,
        app: ASGIApp,
        service: Guarded,
        *,
        routes: Collection[str],
        open_routes: Collection[str],
        hosts: Sequence[str] = (),
        token: str | None = None,
    ) -> None:
        self.app, self.service, self.routes, self.open_routes = app, service, routes, open_routes
        self.hosts = {host.lower() for host in hosts}
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        try:
            await self._answer(scope, receive, sending)
        except Refusal as refusal:
            await refusal.response()(scope, receive, sending)
        except Exception as failure:
            log.error("%s %s failed", scope["method"], scope["path"], exc_info=failure)
            if not status:
                await internal().response()(scope, receive, sending)
        finally:
            route = scope["path"] if scope["path"] in self.routes else "other"
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self.service.counted(route, method, status, time.perf_counter() - begun)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, path = Headers(scope=scope), scope["path"]
        if self.hosts and _host_of(headers.get("host", "")) not in self.hosts:
            message = "The host name that was asked for is not one of this server (--set 'serve.hosts=[NAME]')."
            raise Refusal(400, "wrong_host", message)
        if path not in self.open_routes and not self._is_allowed(headers.get("authorization", "")):
            message = "Send the token of this server: Authorization: Bearer TOKEN."
            raise Refusal(401, "wrong_token", message, {"WWW-Authenticate": "Bearer"})
        if self.service.is_stopping and path != "/health":
            raise stopping()
        await self.app(scope, receive, send)

    def _is_allowed(self, authorization: str) -> bool:
        if self._token is None:
            return True
        scheme, _, given = authorization.partition(" ")
        shown = given.strip().encode("latin-1", "replace")
        if scheme.lower() == "basic":  # Label Studio knows no other way; the token is the password
            try:
                shown = base64.b64decode(shown, validate=True).partition(b":")[2]
            except (binascii.Error, ValueError):
                return False
        elif scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(shown, self._token)


def _host_of(header: str) -> str:
    """The name without the port: `localhost`, `[::1]`."""
    name, colon, port = header.strip().lower().rpartition(":")
    return name if colon and port.isdigit() and (name.endswith("]") or ":" not in name) else header.strip().lower()
