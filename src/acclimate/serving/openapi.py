"""The description of the interface: OpenAPI 3.1, with the bounds of this server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from acclimate import __version__
from acclimate.serving.application import Operation
from acclimate.serving.requests import ErrorAnswer, OneOrMany
from acclimate.serving.settings import ServerSettings

_ABOUT = """Finds entities in text. Offsets count Unicode code points from 0, not bytes and not UTF-16 units.

Concurrent requests share batches, and no answer depends on them. Where a token is asked for, send it as
`Authorization: Bearer TOKEN`."""
_REFUSALS = {
    400: "The body is no JSON, or the host name is not one of this server.",
    401: "The token is missing or wrong.",
    404: "There is no such model.",
    408: "The body took too long to arrive.",
    413: "The request is longer than this server allows.",
    415: "The content type is not application/json.",
    422: "A field is missing, unknown, or of another type; the message names it.",
    429: "Too much is waiting; Retry-After says when to come again.",
    500: "A fault of the server.",
    503: "The answer took too long, there are too many connections, or the server is stopping.",
}
_OF_EVERY_OPERATION = (400, 500, 503)
_OF_EVERY_BODY = (408, 413, 415, 422)
_RETRY = {"schema": {"type": "integer"}, "description": "Seconds until the same request may succeed."}


def describe(operations: Sequence[Operation], settings: ServerSettings) -> dict[str, Any]:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Acclimate",
            "version": __version__,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": {each.path: {each.methods[0].lower(): _operation(each)} for each in operations},
        "components": {
            "schemas": _schemas(operations, settings),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(each: Operation) -> dict[str, Any]:
    refusals = {*_OF_EVERY_OPERATION, *each.refusals, *(() if each.is_open else (401,))}
    described: dict[str, Any] = {
        "operationId": each.act.__name__,
        "summary": (each.act.__doc__ or "").split("\n")[0],
        "security": [] if each.is_open else [{}, {"token": []}],
    }
    if each.request is not None:
        refusals.update(_OF_EVERY_BODY)
        described["requestBody"] = {"required": True, "content": _json(each.request)}
    responses = {status: _refusal(status) for status in refusals}
    responses[200] = _answer(each.answer)
    return {**described, "responses": {str(status): responses[status] for status in sorted(responses)}}


def _answer(model: type[BaseModel] | str) -> dict[str, Any]:
    if isinstance(model, str):
        kind = "string" if model == "text/plain" else "object"
        return {"description": "The document.", "content": {model: {"schema": {"type": kind}}}}
    return {"description": (model.__doc__ or "").split("\n")[0], "content": _json(model)}


def _refusal(status: int) -> dict[str, Any]:
    headers = {"headers": {"Retry-After": _RETRY}} if status == 429 else {}
    return {"description": _REFUSALS[status], "content": _json(ErrorAnswer), **headers}


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}


def _schemas(operations: Sequence[Operation], settings: ServerSettings) -> dict[str, Any]:
    requests = [each.request for each in operations if each.request is not None]
    answers: list[type[BaseModel]] = [ErrorAnswer]
    answers += [each.answer for each in operations if not isinstance(each.answer, str)]
    pairs = [(model, "validation") for model in requests]
    pairs += [(model, "serialization") for model in dict.fromkeys(answers)]
    _, found = models_json_schema(pairs, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    schemas: dict[str, Any] = found["$defs"]
    for request in requests:
        if issubclass(request, OneOrMany):
            schema = schemas[request.__name__]
            schema["oneOf"] = [{"required": [name]} for name in request.either]
            schema["properties"][request.either[1]]["maxItems"] = settings.max_texts
            schema["description"] += f" At most {settings.max_words:,} words in all."
    schemas["PredictRequest"]["properties"]["tasks"]["maxItems"] = settings.max_texts
    return schemas
