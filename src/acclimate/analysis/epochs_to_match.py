"""Validation curves of several runs side by side: when does one reach another's best (MSLM's Figure 3)?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.analysis.curves import StageCurves
from acclimate.data.problems import InputError
from acclimate.evaluation.table import Row, align

NEVER = "never"


@dataclass(frozen=True, slots=True)
class Look:
    """A score along training. The epoch is None where the record does not tell it."""

    update: int
    epoch: float | None
    score: float

    @property
    def when(self) -> str:
        return f"update {self.update:,}" if self.epoch is None else f"epoch {self.epoch:g}"


@dataclass(frozen=True, slots=True)
class ScoreCurve:
    """The scores of one stage of one run."""

    name: str
    looks: tuple[Look, ...]

    @property
    def best(self) -> Look:
        """The highest score; of equal ones the earliest."""
        return max(self.looks, key=lambda look: (look.score, -look.update))

    def reaches(self, score: float) -> Look | None:
        """The first look that is as good as this, if there is one."""
        return next((look for look in self.looks if look.score >= score), None)


@dataclass(frozen=True, slots=True)
class EpochsToMatch:
    """Curves of scores that one selector gave: the same split, so that they compare."""

    selector: str
    curves: tuple[ScoreCurve, ...]

    @property
    def reached(self) -> list[list[Look | None]]:
        """(curve, other curve): where the curve reaches the other's best."""
        return [[curve.reaches(other.best.score) for other in self.curves] for curve in self.curves]

    def as_dict(self) -> dict[str, Any]:
        names = [curve.name for curve in self.curves]
        return {
            "selector": self.selector,
            "curves": [{**asdict(curve), "best": asdict(curve.best)} for curve in self.curves],
            "reaches_best_of": {
                name: {
                    other: None if look is None else asdict(look)
                    for other, look in zip(names, row, strict=True)
                    if other != name
                }
                for name, row in zip(names, self.reached, strict=True)
            },
        }

    def as_rows(self) -> list[dict[str, Any]]:
        """Flat rows, for CSV files."""
        return [
            {"selector": self.selector, "curve": curve.name, **asdict(look)}
            for curve in self.curves
            for look in curve.looks
        ]

    def render(self) -> str:
        """A row per curve; the columns on the right are numbered like the rows."""
        numbers = range(1, len(self.curves) + 1)
        table: list[Row] = [("", "best", "at", *(f"reaches {number}" for number in numbers))]
        for number, curve, row in zip(numbers, self.curves, self.reached, strict=True):
            told = ["" if one is curve else NEVER if look is None else look.when for one, look in _beside(self, row)]
            table.append((f"{number} {curve.name}", f"{curve.best.score:.4f}", curve.best.when, *told))
        return "\n".join([self.selector, *align(table)])


def compare_curves(runs: Mapping[str, Sequence[StageCurves]]) -> list[EpochsToMatch]:
    """All curves of runs (`read_curves`) that are scores by the same selector, for each selector that gave several."""
    groups: dict[str, list[tuple[str, StageCurves]]] = {}
    for run, stages in runs.items():
        for stage in stages:
            for selector, series in stage.scores.items():
                if series.known:
                    groups.setdefault(selector, []).append((run, stage))
    found = [
        EpochsToMatch(selector, tuple(_curves(selector, group, len(runs))))
        for selector, group in groups.items()
        if len(group) > 1
    ]
    if not found:
        known = "; ".join(groups) or "no selector"
        raise InputError(f"no two curves can be compared: scores come from {known}, and each has one curve only.")
    return found


def _curves(selector: str, group: Sequence[tuple[str, StageCurves]], runs: int) -> list[ScoreCurve]:
    """A curve is called by its run where that has no other, by its stage where there is but one run, else by both."""
    names = [run for run, _ in group]
    curves = []
    for run, stage in group:
        name = run if runs > 1 and names.count(run) == 1 else stage.name if runs == 1 else f"{run}: {stage.name}"
        looks = (Look(update, stage.epochs.get(update), value) for value, update in stage.scores[selector].known)
        curves.append(ScoreCurve(name, tuple(looks)))
    return curves


def _beside(found: EpochsToMatch, row: Sequence[Look | None]) -> list[tuple[ScoreCurve, Look | None]]:
    return list(zip(found.curves, row, strict=True))
