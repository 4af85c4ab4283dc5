"""The interface that Label Studio asks of a machine-learning backend: tasks in, predictions out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from pydantic import BaseModel, ConfigDict, Field

from acclimate import __version__
from acclimate.serving.bodies import Refusal

_LONGEST_CONFIG = 200_000  # characters
_FORBIDDEN = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
_VARIABLE = re.compile(r"\$([\w.-]+)")


class FromLabelStudio(BaseModel):
    """Label Studio sends more fields than are needed here, and others in other versions."""

    model_config = ConfigDict(extra="ignore", strict=True)


class Task(FromLabelStudio):
    """A task; of its data only the text is looked at."""

    id: Any = None
    data: dict[str, Any]


class PredictRequest(FromLabelStudio):
    """Tasks, and the labelling interface of their project."""

    tasks: list[Task]
    label_config: str = Field(description="The project's labelling interface: XML with <Labels> and <Text>.")


class SetupRequest(FromLabelStudio):
    """What Label Studio tells when it connects. `schema` is the labelling interface."""

    interface: str = Field("", alias="schema")


class WebhookRequest(FromLabelStudio):
    """What happened in Label Studio. This server does not learn from it."""

    action: str = ""


class Value(BaseModel):
    """The span in Unicode code points, and its label."""

    start: int
    end: int
    text: str
    labels: list[str]
    score: float


class Region(BaseModel):
    """One entity as Label Studio shows it."""

    id: str
    from_name: str
    to_name: str
    type: str
    value: Value
    score: float


class Prediction(BaseModel):
    """The entities of one task; its score is the mean of theirs, and 0 without any."""

    model_version: str
    score: float
    result: list[Region]


class SetupAnswer(BaseModel):
    """Which tagger answers, and which of its labels the labelling interface does not have."""

    model_version: str
    left_out: list[str]


class PredictAnswer(SetupAnswer):
    """A prediction for each task, in their order."""

    results: list[Prediction]


@dataclass(frozen=True)
class Interface:
    """Where labels and text stand in a labelling interface."""

    from_name: str
    to_name: str
    variable: str  # of the task's data
    labels: Mapping[str, str]  # of the tagger → of Label Studio
    left_out: list[str]  # labels of the tagger that it does not have

    @classmethod
    def of(cls, config: str, tagger_labels: Iterable[str]) -> Interface:
        """From a project's XML. Names of labels are compared as they are, and then without regard to case."""
        root = _parsed(config)
        texts = {tag.get("name", ""): tag.get("value", "") for tag in root.iter("Text")}
        for control in root.iter("Labels"):
            target = control.get("toName", "")
            if target in texts and control.get("name"):
                variable = _VARIABLE.fullmatch(texts[target].strip())
                if variable is None:
                    raise _refused(f"the value of <Text name={target!r}> is no variable such as $text")
                labels = _mapping(control, tagger_labels)
                left_out = [label for label in tagger_labels if label not in labels]
                return cls(control.get("name", ""), target, variable[1], labels, left_out)
        raise _refused('it has no <Labels name="…" toName="…"> that points to a <Text name="…">')

    def text_of(self, task: Task, number: int) -> str:
        value: Any = task.data
        for key in (self.variable,) if self.variable in task.data else self.variable.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, str):
            message = f"tasks.{number}.data.{self.variable}: there is no text, which ${self.variable} asks for."
            raise Refusal(422, "invalid_request", message)
        return value

    def prediction(self, entities: Sequence[Mapping[str, Any]], version: str) -> Prediction:
        names = {"from_name": self.from_name, "to_name": self.to_name, "type": "labels"}
        regions = []
        for number, each in enumerate(entities):
            if each["label"] in self.labels:
                place = {name: each[name] for name in ("start", "end", "text", "score")}
                value = Value(**place, labels=[self.labels[each["label"]]])
                regions.append(Region(id=f"e{number}", **names, value=value, score=each["score"]))
        mean = sum(region.score for region in regions) / len(regions) if regions else 0.0
        return Prediction(model_version=version, score=mean, result=regions)


def version_of(name: str) -> str:
    return f"acclimate {__version__}: {name}"


def _parsed(config: str) -> ElementTree.Element:
    if len(config) > _LONGEST_CONFIG:
        raise _refused(f"it is longer than {_LONGEST_CONFIG:,} characters")
    if _FORBIDDEN.search(config):  # entities can grow without bound, or name files
        raise _refused("it has a DOCTYPE or an ENTITY, which are not read")
    try:
        return ElementTree.fromstring(config)
    except (ElementTree.ParseError, ValueError) as failure:
        raise _refused(f"it is no XML ({failure})") from None


def _refused(why: str) -> Refusal:
    return Refusal(422, "invalid_label_config", f"label_config: {why}.")


def _mapping(control: ElementTree.Element, tagger_labels: Iterable[str]) -> dict[str, str]:
    """A label of the interface is called by its value or alias, or stands for others by `predicted_values`."""
    exact: dict[str, str] = {}
    for label in control.iter("Label"):
        shown = label.get("alias") or label.get("value") or ""
        others = [name.strip() for name in label.get("predicted_values", "").split(",")]
        for name in (label.get("value", ""), label.get("alias", ""), *others):
            if name:
                exact.setdefault(name, shown)
    folded = {name.casefold(): shown for name, shown in reversed(exact.items())}
    pairs = ((label, exact.get(label) or folded.get(label.casefold())) for label in tagger_labels)
    return {label: shown for label, shown in pairs if shown}
