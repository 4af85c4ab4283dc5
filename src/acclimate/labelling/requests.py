"""What the page sends, checked on its way in."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from acclimate.data.answers import Answer, Guide
from acclimate.data.problems import InputError
from acclimate.labelling.queue import Place
from acclimate.serving.requests import Message

Name = Annotated[str, Field(min_length=1, max_length=100)]
Identifier = Annotated[str, Field(min_length=1, max_length=100)]
SpanFields = Annotated[list[int | str], Field(min_length=3, max_length=3)]  # [first word, last word + 1, label]
Words = Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(min_length=1, max_length=100)]
_MOST = 10_000  # letters of a note, sentences of a step


class Asked(Message):
    """What every request of the page says: who asks."""

    annotator: Name


class NextRequest(Asked):
    """The sentence on the screen, or the one to show in its place."""

    show: Identifier | None = None


class AnswerFields(Message):
    """One answer, as `data/answers.py` explains it."""

    sentence: Identifier
    status: Literal["done", "part", "skipped", "flagged"]
    spans: list[SpanFields] = Field([], max_length=_MOST)
    rejected: list[SpanFields] = Field([], max_length=_MOST)
    open: list[SpanFields] = Field([], max_length=_MOST)
    note: Annotated[str, Field(max_length=_MOST)] = ""
    seconds: Annotated[float, Field(ge=0, le=86_400)] = 0.0
    seen: Annotated[int, Field(ge=0)]


class AnswersRequest(Asked):
    """Answers that are one step, and the sentence that the page shows after them."""

    answers: Annotated[list[AnswerFields], Field(min_length=1, max_length=_MOST)]
    show: Identifier | None = None

    @property
    def read(self) -> list[Answer]:
        return [Answer.of(one.model_dump(), self.annotator) for one in self.answers]


class SearchRequest(Asked):
    text: Annotated[str, Field(max_length=1_000)]


class ElsewhereRequest(Asked):
    """Where else these words stand."""

    words: Words


class LabelElsewhereRequest(ElsewhereRequest):
    """Give the words this label in these places, [sentence, first word, last word + 1]."""

    label: Annotated[str, Field(min_length=1, max_length=100)]
    places: Annotated[
        list[Annotated[list[int | str], Field(min_length=3, max_length=3)]], Field(min_length=1, max_length=_MOST)
    ]

    @property
    def read(self) -> list[Place]:
        return [Place(str(one[0]), *_numbers(one[1:])) for one in self.places]


class GuideRequest(Asked):
    """Labels, colours and guidelines; `seen` is the version that was on the screen."""

    labels: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=1_000)]
    colours: dict[str, str]
    guidelines: Annotated[str, Field(max_length=100_000)]
    seen: Annotated[int, Field(ge=0)]

    @property
    def read(self) -> Guide:
        return Guide(tuple(self.labels), self.colours, self.guidelines)


class ProgressRequest(Asked):
    """How far it is; of the sentence on the screen also whether it was changed elsewhere."""

    sentence: Identifier | None = None


class CorpusRequest(Asked):
    """What was labelled, as a file."""

    format: Literal["jsonl", "conll"] = "jsonl"
    held_back: bool = False


def _numbers(values: list[Any]) -> tuple[int, int]:
    if not all(isinstance(value, int) for value in values):
        raise InputError(f"a place needs two numbers of words, not {values}.")
    start, end = values
    return start, end
