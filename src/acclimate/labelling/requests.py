"""What the page sends, checked on its way in."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from acclimate.data.answers import Answer, Guide
from acclimate.serving.bodies import Message

_MOST = 10_000  # letters of a note, sentences of a step
Name = Annotated[str, Field(min_length=1, max_length=100)]  # of a person, a label, a sentence
Words = Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(min_length=1, max_length=100)]
SpanFields = Annotated[tuple[int, int, str], Field(strict=False)]  # first word, last word + 1, label
PlaceFields = Annotated[tuple[str, int, int], Field(strict=False)]  # sentence, first word, last word + 1


class Asked(Message):
    """What every request of the page says: who asks."""

    annotator: Name


class NextRequest(Asked):
    """The sentence on the screen, or the one to show in its place."""

    show: Name | None = None


class AnswerFields(Message):
    """One answer, as `data/answers.py` explains it."""

    sentence: Name
    status: Literal["done", "part", "skipped", "flagged"]
    spans: list[SpanFields] = Field([], max_length=_MOST)
    rejected: list[SpanFields] = Field([], max_length=_MOST)
    open: list[SpanFields] = Field([], max_length=_MOST)
    note: Annotated[str, Field(max_length=_MOST)] = ""
    seconds: Annotated[float, Field(ge=0, le=86_400)] = 0.0
    seen: Annotated[int, Field(ge=0)]


class AnswersRequest(NextRequest):
    """Answers that are one step, and the sentence that the page shows after them."""

    answers: Annotated[list[AnswerFields], Field(min_length=1, max_length=_MOST)]

    @property
    def read(self) -> list[Answer]:
        return [Answer.of(one.model_dump(), self.annotator) for one in self.answers]


class SearchRequest(Asked):
    """Sentences that hold a text."""

    text: Annotated[str, Field(max_length=1_000)]


class ElsewhereRequest(Asked):
    """Where else these words stand."""

    words: Words


class LabelElsewhereRequest(ElsewhereRequest):
    """Give the words this label in these places."""

    label: Name
    places: Annotated[list[PlaceFields], Field(min_length=1, max_length=_MOST)]


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

    sentence: Name | None = None
