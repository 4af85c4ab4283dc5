"""What goes in and out: checked bodies of requests, answers as JSON, and refusals that name what is wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from acclimate.serving.settings import AccessSettings

INLINE = 20_000  # bytes that are read at once in the event loop; more would hold up other requests
M = TypeVar("M", bound=BaseModel)


class Refusal(Exception):
    """A request that gets no answer but `{"error": {"code", "message"}}`, and what `more` says beside it."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, headers or {}
        self._content = {"error": {"code": code, "message": message}, **(more or {})}

    def response(self) -> Json:
        return Json(self._content, self.status, self.headers)


class Json(Response):
    """JSON in UTF-8."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def stopping() -> Refusal:
    return Refusal(503, "stopping", "The server is stopping. Ask again in a while.", {"Retry-After": "5"})


def internal() -> Refusal:
    return Refusal(500, "internal", "The server failed on this request. Its log says why.")


class Message(BaseModel):
    """What all bodies share: no field of another name, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


async def read_json(request: Request, kind: type[M], settings: AccessSettings) -> M:
    """The checked body of a request."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":  # a form of another site can send anything else, but not this
        raise Refusal(415, "wrong_content_type", f"Content-Type is {media or 'missing'}: send application/json.")
    body = await _read_body(request, settings)
    return parsed(body, kind) if len(body) <= INLINE else await asyncio.to_thread(parsed, body, kind)


async def _read_body(request: Request, settings: AccessSettings) -> bytes:
    most = settings.max_body_bytes
    too_long = f"The body is longer than {most:,} bytes. Send less text at once."
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= most:
                    chunks.append(chunk)
                elif size > 8 * most + 1_000_000:  # until then: who is cut off while sending does not see the answer
                    break
    except TimeoutError:
        message = f"The body did not arrive within {settings.body_seconds:g} seconds."
        raise Refusal(408, "body_too_slow", message, {"Connection": "close"}) from None
    if size > most:
        raise Refusal(413, "body_too_long", too_long, {"Connection": "close"})
    return b"".join(chunks)


def parsed(body: bytes, kind: type[M]) -> M:
    """A body as what it should be, or a refusal that names the field."""
    try:
        values = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as failure:
        raise Refusal(400, "invalid_json", f"The body is not UTF-8 (byte {failure.start}).") from None
    except json.JSONDecodeError as failure:
        place = f"line {failure.lineno}, column {failure.colno}"
        raise Refusal(400, "invalid_json", f"The body is no JSON: {failure.msg} ({place}).") from None
    except (ValueError, RecursionError) as failure:  # a number of too many digits, too deep a nesting
        why = str(failure).split("\n")[0].rstrip(".")[:200]
        raise Refusal(400, "invalid_json", f"The body is no JSON that can be read: {why}.") from None
    if b"\\ud" in body.lower():
        _require_whole_characters(values)
    try:
        return kind.model_validate(values)
    except ValidationError as failure:
        raise Refusal(422, "invalid_request", _explained(failure)) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _require_whole_characters(values: Any) -> None:
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as failure:
        half = f"\\u{ord(failure.object[failure.start]):x}"
        message = f"The body has {half} without its other half, which is no character."
        raise Refusal(422, "invalid_request", message) from None


def _explained(failure: ValidationError) -> str:
    """The first few mistakes, each with its field."""
    found = failure.errors(include_url=False, include_input=False)
    problems = []
    for error in found[:3]:
        field = ".".join(map(str, error["loc"]))[:200] or "body"
        message = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
        if error["type"] == "extra_forbidden":
            message = "there is no such field"
        problems.append(f"{field}: {message}.")
    more = f" And {len(found) - 3} more." if len(found) > 3 else ""
    return " ".join(problems) + more
