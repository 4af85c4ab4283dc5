"""Several runs of one policy as one: the mean over seeds, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.analysis.mask_statistics import OTHERS, PARTS_OF_SPEECH, HiddenWords, MaskStatistics
from acclimate.data.problems import InputError

ALL_WORDS = "all words"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One period: the mean over the runs, the lowest and the highest. None where no run hid anything."""

    first: int
    last: int
    mean: float | None
    lowest: float | None
    highest: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """The density ratio over training, of one policy."""

    name: str
    runs: int
    points: tuple[CurvePoint, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def density_curves(statistics: Sequence[MaskStatistics], *, split: bool = False) -> list[Curve]:
    """A curve of the hidden words for each policy, and one of all words of the same rows, which comes last.

    `split` draws mixtures apart by the policy that chose the row.
    """
    if len({run.every for run in statistics}) > 1:
        raise InputError("these runs have periods of different lengths; read them together, or with the same `every`.")
    groups = by_policy(statistics, split=split)
    curves = [_curve(name, runs, lambda found: found.hidden) for name, runs in groups.items()]
    return [*curves, _curve(ALL_WORDS, [run.everything for run in statistics], lambda found: found.overall)]


def mean_part_of_speech_shares(
    statistics: Sequence[MaskStatistics], *, split: bool = False
) -> dict[str, dict[str, float]]:
    """Shares of the parts of speech among the hidden words of each policy, and, first, among all words."""
    parts = (*PARTS_OF_SPEECH, OTHERS)
    groups = {ALL_WORDS: [run.everything for run in statistics], **by_policy(statistics, split=split)}
    shares: dict[str, dict[str, float]] = {}
    for name, runs in groups.items():
        tagged = [run.parts_of_speech for run in runs if run.parts_of_speech is not None]
        side = "overall" if name == ALL_WORDS else "hidden"
        if tagged:
            shares[name] = {part: sum(getattr(found[part], side) for found in tagged) / len(tagged) for part in parts}
    return shares


def policies_as_dict(statistics: Sequence[MaskStatistics]) -> dict[str, Any]:
    """Curves and parts of speech by policy, in plain JSON types."""
    curves = [curve.as_dict() for curve in density_curves(statistics)]
    return {"density_ratio": curves, "parts_of_speech": mean_part_of_speech_shares(statistics)}


def by_policy(statistics: Iterable[MaskStatistics], *, split: bool = False) -> dict[str, list[HiddenWords]]:
    """The runs of each policy; with `split` a mixture falls into its parts."""
    groups: dict[str, list[HiddenWords]] = {}
    for run in statistics:
        parts = {f"{run.policy}, by {by}": part for by, part in run.by.items()} if split and run.by else {}
        for name, hidden in (parts or {run.policy: run.everything}).items():
            groups.setdefault(name, []).append(hidden)
    return groups


def _curve(name: str, runs: Sequence[HiddenWords], side: Callable[[Any], float]) -> Curve:
    """Runs may be of different length: a period is the mean of those that reach it."""
    longest = max((run.periods for run in runs), key=len, default=())
    points = []
    for number, period in enumerate(longest):
        reached = [run.periods[number].density_ratio for run in runs if number < len(run.periods)]
        values = [side(found) for found in reached if found is not None]
        mean = sum(values) / len(values) if values else None
        points.append(CurvePoint(period.first, period.last, mean, min(values, default=None), max(values, default=None)))
    return Curve(name, len(runs), tuple(points))
