"""Short against long sentences, for several taggers side by side (MSLM's Table 5).

The border is the mean length of the sentences scored, which `score` has found: all must be scored on one set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from acclimate.data.problems import InputError
from acclimate.evaluation.scores import LengthGroup, Scores


@dataclass(frozen=True, slots=True)
class Part:
    """The short sentences, or the long ones; means over runs."""

    sentences: int
    spans: int  # gold
    exact_match: float
    f1: float


@dataclass(frozen=True, slots=True)
class ShortAndLong:
    """One tagger. A sentence is short if it is not longer than the mean."""

    name: str
    runs: int
    mean_length: float
    short: Part
    long: Part

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def as_row(self) -> dict[str, Any]:
        """The same on one line, for a CSV file."""
        parts = {"short": self.short, "long": self.long}
        figures = {f"{name}_{key}": value for name, part in parts.items() for key, value in asdict(part).items()}
        return {"name": self.name, "runs": self.runs, "mean_length": self.mean_length, **figures}


def compare_short_and_long(scores: Mapping[str, Scores | Sequence[Scores]]) -> list[ShortAndLong]:
    """One row per tagger; several scores under one name are runs of it with other seeds."""
    runs = {name: [given] if isinstance(given, Scores) else list(given) for name, given in scores.items()}
    empty = [name for name, found in runs.items() if not found]
    if empty:
        raise InputError(f"{empty[0]}: there are no scores.")
    sizes = {(run.sentences, run.words) for found in runs.values() for run in found}
    if len(sizes) > 1:
        raise InputError("these were scored on different sentences: what is short for one is not for another.")
    return [_row(name, found) for name, found in runs.items()]


def _row(name: str, runs: Sequence[Scores]) -> ShortAndLong:
    lengths = [run.by_length for run in runs]
    short, long = _part([one.short for one in lengths]), _part([one.long for one in lengths])
    return ShortAndLong(name, len(runs), lengths[0].mean_length, short, long)


def _part(groups: Sequence[LengthGroup]) -> Part:
    exact_match, f1 = fmean(group.exact_match for group in groups), fmean(group.span.f1 for group in groups)
    return Part(groups[0].sentences, groups[0].span.gold, exact_match, f1)
