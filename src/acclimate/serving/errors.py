"""Answers as JSON, and refusals that name what is wrong."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response


class Refusal(Exception):
    """A request that gets no answer but `{"error": {"code", "message"}}`."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}

    def response(self) -> Json:
        return Json({"error": {"code": self.code, "message": self.message}}, self.status, self.headers)


class Json(Response):
    """JSON in UTF-8."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


STATUSES = {
    400: "The body is no JSON, or the host name is not one of this server.",
    401: "The token is missing or wrong.",
    404: "There is no such model.",
    405: "The route does not take this method.",
    408: "The body took too long to arrive.",
    413: "The request is longer than this server allows.",
    415: "The content type is not application/json.",
    422: "A field is missing, unknown, or of another type; the message names it.",
    429: "Too much is waiting; Retry-After says when to come again.",
    500: "A fault of the server.",
    503: "The answer took too long, or the server is stopping.",
}
"""What a status of a refusal means, for the description of the interface."""


def unknown_model(name: str, known: list[str]) -> Refusal:
    return Refusal(404, "unknown_model", f"model: there is no {name!r} here, only {', '.join(known)}.")


def stopping() -> Refusal:
    return Refusal(503, "stopping", "The server is stopping. Ask again in a while.", {"Retry-After": "5"})


def too_slow(seconds: float) -> Refusal:
    message = f"No answer within {seconds:g} seconds. Send less text at once, or ask again in a while."
    return Refusal(503, "too_slow", message, {"Retry-After": "5"})


def internal() -> Refusal:
    return Refusal(500, "internal", "The server failed on this request. Its log says why.")
