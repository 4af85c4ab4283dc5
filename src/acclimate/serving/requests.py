"""What clients of the taggers send and get, as `/openapi.json` describes it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from acclimate.serving.bodies import Message

Word = Annotated[str, Field(min_length=1)]


class OneOrMany(Message):
    """One input, or several."""

    either: ClassVar[tuple[str, str]]  # the fields of which a request has exactly one

    model: str | None = Field(None, description="A name of GET /v1/models; left out: the first one.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        one, many = self.either
        if (one in self.model_fields_set) == (many in self.model_fields_set):
            raise ValueError(f"give either {one} or {many}")
        return self

    @property
    def is_one(self) -> bool:
        return self.either[0] in self.model_fields_set

    @property
    def inputs(self) -> list[Any]:
        one, many = (getattr(self, name) for name in self.either)
        return [one] if self.is_one else many


class EntitiesRequest(OneOrMany):
    """One text, or several."""

    either = ("text", "texts")

    text: str = Field("", description="One text of any number of sentences.")
    texts: list[str] = Field([], description="Several texts, in place of one.")


class TagsRequest(OneOrMany):
    """One sentence that is split into words already, or several."""

    either = ("words", "sentences")

    words: list[Word] = Field([], description="The words of one sentence.")
    sentences: list[list[Word]] = Field([], description="Several sentences, in place of one.")


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


class ModelsAnswer(Message):
    """The taggers of this server; the first answers where a request names none."""

    models: list[ModelAnswer]


class HealthAnswer(Message):
    """`UP` while requests are taken."""

    status: str
    model_class: str
    models: list[str]


class ErrorBody(Message):
    code: str
    message: str


class ErrorAnswer(Message):
    """Why there is no other answer."""

    error: ErrorBody
