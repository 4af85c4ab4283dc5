"""Three counts, from which precision, recall and F1 follow."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


def ratio(part: float, whole: float) -> float:
    """Part of the whole, and 0.0 when there is no whole: a figure is never NaN.

    So precision is 0 where nothing was predicted, recall is 0 where nothing was to be found, and F1 is 0 where both
    hold. conlleval and seqeval (zero_division=0) say the same; 1 would reward a tagger that is never asked anything.
    """
    return part / whole if whole else 0.0


def percent(share: float) -> str:
    """As people read it: two digits behind the point."""
    return f"{100 * share:.2f}"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many there were, how many were predicted, how many of these are right. Tallies add up over sentences."""

    gold: int = 0
    predicted: int = 0
    correct: int = 0

    @classmethod
    def of(cls, gold: Collection[Hashable], predicted: Collection[Hashable]) -> Tally:
        """Count two collections without repeats (spans of one sentence, say): right is what both hold."""
        return cls(len(gold), len(predicted), len(set(gold) & set(predicted)))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.gold + other.gold, self.predicted + other.predicted, self.correct + other.correct)

    @property
    def precision(self) -> float:
        return ratio(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        return ratio(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, straight from the counts: no product of two roundings."""
        return ratio(2 * self.correct, self.gold + self.predicted)

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to find and nothing was found: 0.0 would then look like a failure."""
        return not self.gold and not self.predicted

    def as_dict(self) -> dict[str, Any]:
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "gold": self.gold,
            "predicted": self.predicted,
            "correct": self.correct,
        }


@dataclass(frozen=True, slots=True)
class Average:
    """Precision, recall and F1, each averaged over labels. A rare label weighs as much as a frequent one."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, tallies: Collection[Tally]) -> Average:
        """F1 is the mean of the labels' F1 (as in seqeval and scikit-learn), not the F1 of the mean P and R."""
        return cls(*(mean(getattr(tally, name) for tally in tallies) for name in ("precision", "recall", "f1")))

    def as_dict(self) -> dict[str, Any]:
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1}


def mean(values: Iterable[float]) -> float:
    """The mean, and 0.0 of nothing."""
    listed = list(values)
    return ratio(sum(listed), len(listed))


def stored_f1(change: Mapping[str, Any] | None, when: str) -> float | None:
    """F1 of spans before or after, as a report keeps it (accuracy for plain tags); None without a test, and where
    nothing was to be found in it."""
    span = {} if change is None else change[when]["span"]
    return float(span["f1"]) if span.get("gold") else None
