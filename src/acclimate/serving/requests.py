"""What clients send and get: checked on the way in, and described for `/openapi.json`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from starlette.requests import Request

from acclimate.data.words import find_words
from acclimate.serving.errors import Refusal
from acclimate.serving.settings import AccessSettings, ServerSettings

_INLINE = 20_000  # bytes of a body that is read at once in the event loop; a longer one would hold up other requests
_MODEL = "A name of GET /v1/models; left out: the first one."
Word = Annotated[str, Field(min_length=1)]


class Message(BaseModel):
    """What all bodies share: no field of another name, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class EntitiesRequest(Message):
    """One text, or several."""

    text: str = Field("", description="One text of any number of sentences.")
    texts: list[str] = Field([], description="Several texts, in place of one.")
    model: str | None = Field(None, description=_MODEL)

    @model_validator(mode="after")
    def _one_of_both(self) -> EntitiesRequest:
        return _require_one(self, "text", "texts")

    @property
    def is_one(self) -> bool:
        return "text" in self.model_fields_set

    @property
    def many(self) -> list[str]:
        return [self.text] if self.is_one else self.texts


class TagsRequest(Message):
    """One sentence that is split into words already, or several."""

    words: list[Word] = Field([], description="The words of one sentence.")
    sentences: list[list[Word]] = Field([], description="Several sentences, in place of one.")
    model: str | None = Field(None, description=_MODEL)

    @model_validator(mode="after")
    def _one_of_both(self) -> TagsRequest:
        return _require_one(self, "words", "sentences")

    @property
    def is_one(self) -> bool:
        return "words" in self.model_fields_set

    @property
    def many(self) -> list[list[str]]:
        return [self.words] if self.is_one else self.sentences


ONE_OF_BOTH = {"EntitiesRequest": ("text", "texts"), "TagsRequest": ("words", "sentences")}
R = TypeVar("R", EntitiesRequest, TagsRequest)


def _require_one(request: R, one: str, many: str) -> R:
    if (one in request.model_fields_set) == (many in request.model_fields_set):
        raise ValueError(f"give either {one} or {many}")
    return request


class FoundEntity(Message):
    """A span of a text. `start` and `end` count Unicode code points from 0, as Python's `text[start:end]` does."""

    label: str
    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    score: float = Field(ge=0, le=1, description="Probability that exactly this span has this label.")


class EntitiesAnswer(Message):
    """The entities of the text; for several texts, a list for each."""

    model: str
    entities: list[FoundEntity] | list[list[FoundEntity]]


class TagsAnswer(Message):
    """A tag for each word; for several sentences, a list for each."""

    model: str
    tags: list[str] | list[list[str]]


class ModelAnswer(Message):
    """A tagger of this server."""

    name: str
    labels: list[str]
    kind: str = Field(description="spans (IOB2 tags), or plain: a tag for each word.")
    form: str = Field(description="torch, or compact.")
    before: str | None = Field(description="The tagger from which this one was adapted, where it is served, too.")
    card: str = Field(description="The first lines of its card.")


class ModelsAnswer(Message):
    """The taggers of this server; the first answers where a request names none."""

    models: list[ModelAnswer]


class HealthAnswer(Message):
    """`UP` while requests are taken."""

    status: str
    ready: bool
    model_class: str
    models: list[str]


class ErrorBody(Message):
    code: str
    message: str


class ErrorAnswer(Message):
    """Why there is no other answer."""

    error: ErrorBody


M = TypeVar("M", bound=BaseModel)


async def read_json(request: Request, kind: type[M], settings: AccessSettings) -> M:
    """The checked body of a request."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":  # a form of another site can send anything else, but not this
        raise Refusal(415, "wrong_content_type", f"Content-Type is {media or 'missing'}: send application/json.")
    body = await _read_body(request, settings)
    return parsed(body, kind) if len(body) <= _INLINE else await asyncio.to_thread(parsed, body, kind)


async def _read_body(request: Request, settings: AccessSettings) -> bytes:
    most = settings.max_body_bytes
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and len(announced) > 15:
        raise _too_long(most)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= most:
                    chunks.append(chunk)
                elif size > 8 * most + 1_000_000:
                    break
                else:  # read on for a while: who is cut off in the middle of sending does not see the answer
                    chunks.clear()
    except TimeoutError:
        message = f"The body did not arrive within {settings.body_seconds:g} seconds."
        raise Refusal(408, "body_too_slow", message, {"Connection": "close"}) from None
    if size > most:
        raise _too_long(most)
    return b"".join(chunks)


def _too_long(most: int) -> Refusal:
    message = f"The body is longer than {most:,} bytes. Send less text at once."
    return Refusal(413, "body_too_long", message, {"Connection": "close"})


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
        raise Refusal(400, "invalid_json", f"The body is no JSON that can be read: {_short(failure)}.") from None
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


def _short(failure: Exception) -> str:
    return str(failure).split("\n")[0].rstrip(".")[:200]


def _explained(failure: ValidationError) -> str:
    """The first few mistakes, each with its field."""
    found = failure.errors(include_url=False, include_input=False)
    said = []
    for error in found[:3]:
        field = ".".join(map(str, error["loc"]))[:200] or "body"
        message = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
        if error["type"] == "extra_forbidden":
            message = "there is no such field"
        said.append(f"{field}: {message}.")
    more = f" And {len(found) - 3} more." if len(found) > 3 else ""
    return " ".join(said) + more


async def count_words(contents: Sequence[str | Sequence[str]], settings: ServerSettings) -> list[int]:
    """The number of words of each text or sentence; a refusal where they are too many."""
    if len(contents) > settings.max_texts:
        raise Refusal(413, "too_many_texts", f"{len(contents):,} texts at once; at most {settings.max_texts:,} may be.")
    letters = sum(map(len, contents))
    is_short = letters <= _INLINE
    sizes = _sizes(contents) if is_short else await asyncio.to_thread(_sizes, contents)
    if sum(sizes) > settings.max_words:
        message = f"{sum(sizes):,} words at once; at most {settings.max_words:,} may be. Send less text at once."
        raise Refusal(413, "too_many_words", message)
    return sizes


def _sizes(contents: Sequence[str | Sequence[str]]) -> list[int]:
    return [len(find_words(one)) if isinstance(one, str) else len(one) for one in contents]


def dumped(answer: BaseModel) -> Any:
    return answer.model_dump(mode="json")
