"""The process that serves: its socket, its token, its start and its end."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from acclimate.serving.application import Application, Served
from acclimate.serving.bodies import Refusal
from acclimate.serving.settings import AccessSettings
from acclimate.settings import UsageError

TOKEN = "ACCLIMATE_TOKEN"
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


def bind(host: str, port: int) -> socket.socket:
    """A socket that is taken before taggers are loaded; it listens once the server runs."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as failure:
        raise UsageError(f"--host {host}: no address of this machine ({failure}).") from None
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as failure:
        made.close()
        advice = "Give another --port, or 0 for any that is free."
        raise OSError(failure.errno, f"{os.strerror(failure.errno or 0)}. {advice}", f"{host}:{port}") from None
    return made


def url_of(made: socket.socket) -> str:
    host, port = made.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def is_local(made: socket.socket) -> bool:
    return ipaddress.ip_address(made.getsockname()[0].partition("%")[0]).is_loopback


def hosts_of(made: socket.socket, host: str, settings: AccessSettings) -> list[str]:
    """The names that requests may ask for. On a local address only local ones: else a page of the web could give a name
    of its own to this machine, and read the answers."""
    if settings.hosts or not is_local(made):
        return list(settings.hosts)
    return [*_LOCAL, f"[{host}]" if ":" in host else host, url_of(made).rpartition(":")[0].removeprefix("http://")]


def token_of(settings: AccessSettings) -> str | None:
    """The token that clients must show."""
    file = settings.token_file
    if file is None:
        return os.environ.get(TOKEN, "").strip() or None
    token = file.read_text(encoding="utf-8").strip()
    if not token:
        raise UsageError(f"serve.token_file: {file} is empty. Write a token in it, or leave the setting out.")
    return token


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection of which there may be only so many. One that says nothing is closed after a while."""

    most: int  # connections of this server
    seconds: float  # in which a request has to begin

    def connection_made(self, transport: asyncio.Transport) -> None:
        seconds = self.seconds
        if len(self.connections) >= self.most:
            message = f"This server has {self.most:,} open connections already. Ask again in a while."
            headers = {"Retry-After": "1", "Connection": "close"}
            self.app = Refusal(503, "too_many_connections", message, headers).response()
            seconds = 1.0  # to hear the refusal
        super().connection_made(transport)
        self.loop.call_later(seconds, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


class Server(uvicorn.Server):
    """Ends well: no new requests, a bounded time for those that are here, exit code 0."""

    def __init__(self, service: Served, app: Application, announce: Callable[[], None]) -> None:
        self.service, self.announce = service, announce
        access = service.access
        bounds = {"most": access.max_connections, "seconds": access.body_seconds}
        super().__init__(
            uvicorn.Config(
                app,
                http=type("BoundedConnection", (Connection,), bounds),
                log_level="warning",
                access_log=False,
                server_header=False,
                lifespan="on",
                ws="none",
                timeout_graceful_shutdown=int(access.stop_seconds) + 3,  # beyond what the service itself allows
            )
        )
        self.loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        self.announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        is_first = not self.should_exit
        super().handle_exit(sig, frame)
        self._captured_signals.clear()  # it was asked to stop, and stopping is no failure
        if is_first and self.loop is not None:
            self.loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self.service.begin_to_stop()
        asyncio.get_running_loop().call_later(self.service.access.stop_seconds, self.service.abandon)


def serve(service: Served, app: Application, made: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until SIGTERM or Ctrl-C. `announce` is called when clients can connect."""
    Server(service, app, announce).run(sockets=[made])
    if not service.join(1.0):
        # a thread is still at work on what nobody waits for; Python would tear torch down under its hands
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
