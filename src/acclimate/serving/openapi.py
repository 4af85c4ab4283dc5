"""The description of the interface: OpenAPI 3.1, with the bounds of this server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from acclimate import __version__
from acclimate.serving import label_studio, requests
from acclimate.serving.errors import STATUSES
from acclimate.serving.settings import ServerSettings

_ABOUT = """Finds entities in text. Offsets count Unicode code points from 0, not bytes and not UTF-16 units.

Concurrent requests share batches, and no answer depends on them. Where a token is asked for, send it as
`Authorization: Bearer TOKEN`."""
_OF_EVERY_POST = (400, 401, 408, 413, 415, 422, 500, 503)
_RETRY = {"schema": {"type": "integer"}, "description": "Seconds until the same request may succeed."}


@dataclass(frozen=True)
class Operation:
    """One route. `answers` are the models of its answers by status; a text stands for another media type."""

    path: str
    name: str
    summary: str
    answers: dict[int, type[BaseModel] | str]
    request: type[BaseModel] | None = None
    errors: tuple[int, ...] = ()
    is_open: bool = False

    @property
    def models(self) -> Iterator[type[BaseModel]]:
        for model in (self.request, *self.answers.values()):
            if model is not None and not isinstance(model, str):
                yield model


OPERATIONS = (
    Operation(
        "/v1/entities",
        "findEntities",
        "The entities of a text, or of each of several texts.",
        {200: requests.EntitiesAnswer},
        requests.EntitiesRequest,
        (*_OF_EVERY_POST, 404, 429),
    ),
    Operation(
        "/v1/tags",
        "tagWords",
        "A tag for each word of sentences that are split already.",
        {200: requests.TagsAnswer},
        requests.TagsRequest,
        (*_OF_EVERY_POST, 404, 429),
    ),
    Operation("/v1/models", "listModels", "The taggers of this server.", {200: requests.ModelsAnswer}, None, (401,)),
    Operation(
        "/health",
        "health",
        "Whether requests are taken; Label Studio asks this, too.",
        {200: requests.HealthAnswer, 503: requests.HealthAnswer},
        is_open=True,
    ),
    Operation("/metrics", "metrics", "Counters in the format of Prometheus.", {200: "text/plain"}, None, (401,)),
    Operation("/openapi.json", "describe", "This description.", {200: "application/json"}, is_open=True),
    Operation(
        "/predict",
        "labelStudioPredict",
        "Label Studio: predictions for tasks.",
        {200: label_studio.PredictAnswer},
        label_studio.PredictRequest,
        (*_OF_EVERY_POST, 429),
    ),
    Operation(
        "/setup",
        "labelStudioSetup",
        "Label Studio: a project is connected.",
        {200: label_studio.SetupAnswer},
        label_studio.SetupRequest,
        _OF_EVERY_POST,
    ),
    Operation(
        "/webhook",
        "labelStudioWebhook",
        "Label Studio: something happened in a project; nothing is learnt from it.",
        {200: label_studio.WebhookAnswer},
        label_studio.WebhookRequest,
        _OF_EVERY_POST,
    ),
)


def describe(settings: ServerSettings) -> dict[str, Any]:
    """The whole document."""
    paths = {each.path: {"get" if each.request is None else "post": _operation(each)} for each in OPERATIONS}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Acclimate",
            "version": __version__,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": _schemas(settings),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(each: Operation) -> dict[str, Any]:
    answers = {str(status): _answer(model) for status, model in each.answers.items()}
    errors = {str(status): _error(status) for status in sorted(each.errors)}
    described: dict[str, Any] = {
        "operationId": each.name,
        "summary": each.summary,
        "security": [] if each.is_open else [{}, {"token": []}],
        "responses": answers | errors,
    }
    if each.request is not None:
        described["requestBody"] = {"required": True, "content": _json(each.request)}
    return described


def _answer(model: type[BaseModel] | str) -> dict[str, Any]:
    if isinstance(model, str):
        kind = "string" if model == "text/plain" else "object"
        return {"description": "The document.", "content": {model: {"schema": {"type": kind}}}}
    return {"description": (model.__doc__ or "").split("\n")[0], "content": _json(model)}


def _error(status: int) -> dict[str, Any]:
    headers = {"headers": {"Retry-After": _RETRY}} if status == 429 else {}
    return {"description": STATUSES[status], "content": _json(requests.ErrorAnswer), **headers}


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}


def _schemas(settings: ServerSettings) -> dict[str, Any]:
    asked = {each.request for each in OPERATIONS if each.request is not None}
    models = dict.fromkeys([requests.ErrorAnswer, *(model for each in OPERATIONS for model in each.models)])
    pairs = [(model, "validation" if model in asked else "serialization") for model in models]
    _, found = models_json_schema(pairs, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    schemas: dict[str, Any] = found["$defs"]
    for name, fields in requests.ONE_OF_BOTH.items():
        schemas[name]["oneOf"] = [{"required": [field]} for field in fields]
        schemas[name]["properties"][fields[1]]["maxItems"] = settings.max_texts
        schemas[name]["description"] += f" At most {settings.max_words:,} words in all."
    schemas["PredictRequest"]["properties"]["tasks"]["maxItems"] = settings.max_texts
    return schemas
