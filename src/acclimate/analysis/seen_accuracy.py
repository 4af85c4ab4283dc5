"""Accuracy on words that training had and had not, for several taggers side by side (mlm4uda's Table 5).

Accuracy is over words whose gold tag is not O, which is why it is low.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import stdev
from typing import Any, Literal

from acclimate.data.problems import InputError
from acclimate.evaluation.scores import Scores
from acclimate.evaluation.tally import Tally, mean

Words = Literal["all", "seen", "unseen"]
WORDS: tuple[Words, ...] = ("all", "seen", "unseen")


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The mean over runs, and their standard deviation; None with one run."""

    mean: float
    deviation: float | None
    words: int  # with a gold tag other than O, of the first run


@dataclass(frozen=True, slots=True)
class SeenAccuracy:
    """One tagger."""

    name: str
    runs: int
    all: Accuracy
    seen: Accuracy
    unseen: Accuracy

    def of(self, words: Words) -> Accuracy:
        return {"all": self.all, "seen": self.seen, "unseen": self.unseen}[words]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def as_row(self) -> dict[str, Any]:
        """The same on one line, for a CSV file."""
        figures = {f"{words}_{figure}": value for words in WORDS for figure, value in asdict(self.of(words)).items()}
        return {"name": self.name, "runs": self.runs, **figures}


def compare_seen_accuracy(scores: Mapping[str, Scores | Sequence[Scores]]) -> list[SeenAccuracy]:
    """One row per tagger; several scores under one name are runs of it with other seeds.

    The paper compares words in lower case: `score(gold, predicted, seen=Vocabulary.of(source, lower_cased=True))`.
    """
    runs = {name: [given] if isinstance(given, Scores) else list(given) for name, given in scores.items()}
    ways = set()
    for name, found in runs.items():
        if not found or any(run.unseen is None for run in found):
            raise InputError(f"{name}: not scored with the training text; pass it to score() as seen=….")
        ways |= {run.unseen.lower_cased for run in found if run.unseen is not None}
    if len(ways) > 1:
        raise InputError("some were scored with words in lower case and some as written: score all of them alike.")
    return [_row(name, found) for name, found in runs.items()]


def _row(name: str, runs: Sequence[Scores]) -> SeenAccuracy:
    return SeenAccuracy(name, len(runs), *(_accuracy([_tally(run, words) for run in runs]) for words in WORDS))


def _tally(scores: Scores, words: Words) -> Tally:
    assert scores.unseen is not None  # seen to in compare_seen_accuracy
    return scores.token.tally if words == "all" else scores.unseen.words[words]


def _accuracy(tallies: Sequence[Tally]) -> Accuracy:
    values = [tally.recall for tally in tallies]
    return Accuracy(mean(values), stdev(values) if len(values) > 1 else None, tallies[0].gold)
