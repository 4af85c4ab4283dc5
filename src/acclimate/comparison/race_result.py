"""What a race has shown, who won, and why, in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.comparison.budget import Budget
from acclimate.comparison.tables import aligned
from acclimate.data.problems import InputError
from acclimate.recipes.catalogue import BASELINE
from acclimate.spelling import count

LEARNT = 0.5  # F1 on held-out source sentences, below which a candidate has hardly begun


@dataclass(frozen=True)
class Entry:
    """One candidate after its short run. `value` is the judge's, the higher the better; None where it could not say."""

    recipe: str
    value: float | None
    updates: int
    seconds: float  # of this race; nothing is counted that was there before
    source: float | None  # span F1 (accuracy for plain tags) on held-out source sentences, to see what was forgotten

    @property
    def is_judged(self) -> bool:
        return self.value is not None and math.isfinite(self.value)


@dataclass(frozen=True)
class Race:
    """The candidates in the order of their values, the winner, and the reasons."""

    choice: str
    measure: str
    entries: tuple[Entry, ...]
    left_out: Mapping[str, str]
    budget: Budget
    share: float
    with_target_labels: bool
    reasons: tuple[str, ...]

    @classmethod
    def of(
        cls,
        entries: Sequence[Entry],
        left_out: Mapping[str, str],
        measure: str,
        budget: Budget,
        share: float,
        with_target_labels: bool,
        labels_used: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Race:
        """The highest value wins, of equal ones the first. `labels_used` says what candidates had of target labels."""
        if not any(entry.recipe == BASELINE.name for entry in entries):
            raise InputError(f"{BASELINE.name} could not be run: {left_out.get(BASELINE.name, 'it is not there')}")
        ranked = sorted(entries, key=lambda entry: -(entry.value or 0.0) if entry.is_judged else math.inf)
        choice = ranked[0].recipe if ranked[0].is_judged else BASELINE.name
        reasons = (*_reasons(ranked, choice, measure, share, with_target_labels, labels_used), *notes)
        return cls(choice, measure, tuple(ranked), dict(left_out), budget, share, with_target_labels, reasons)

    def as_dict(self) -> dict[str, Any]:
        return {
            "choice": self.choice,
            "measure": self.measure,
            "with_target_labels": self.with_target_labels,
            "budget": str(self.budget),
            "share": self.share,
            "candidates": [asdict(entry) for entry in self.entries],
            "left_out": dict(self.left_out),
            "reasons": list(self.reasons),
        }


def _reasons(
    ranked: Sequence[Entry],
    choice: str,
    measure: str,
    share: float,
    with_target_labels: bool,
    labels_used: Sequence[str],
) -> tuple[str, ...]:
    judged = [entry for entry in ranked if entry.is_judged]
    if not judged:
        return (f"{measure} could judge no run: {BASELINE.name} is kept, and nothing is adapted.",)
    said = [f"{choice} is preferred by {measure}: {_told(judged[0])}."]
    others = [f"{entry.recipe} {_told(entry)}" for entry in judged[1:3]]
    baseline = next((entry for entry in judged[3:] if entry.recipe == BASELINE.name), None)
    others += [] if baseline is None else [f"{BASELINE.name} {_told(baseline)}"]
    if others:
        said.append(f"Behind it: {', '.join(others)}.")
    tied = [entry.recipe for entry in judged[1:] if entry.value == judged[0].value]
    if tied:
        said.append(f"{', '.join(tied)} has the very same value; {choice} stands before it in the list.")
    if choice == BASELINE.name:
        said.append("No recipe is preferred to not adapting: nothing is adapted.")
    said.append(_told_of_labels(choice, with_target_labels, labels_used))
    if max((entry.source for entry in judged if entry.source is not None), default=1.0) < LEARNT:
        said.append("No candidate has learnt the source yet, and their order says little: give a larger --budget.")
    if share < 1:
        said.append(f"Every candidate made {share:.1%} of its updates; in full training their order may be another.")
    return tuple(said)


def _told_of_labels(choice: str, with_target_labels: bool, used: Sequence[str]) -> str:
    """What target labels were used for, by the judge and by the candidates."""
    candidates = f" Candidates had {' and '.join(used)}." if used else ""
    if not with_target_labels:
        judge = "The judge used no target label." if used else "No target label was used."
        return f"{judge}{candidates} Selectors without labels err: compare tells by how much on your data."
    learns = "" if choice == BASELINE.name else "; the winner learns from all of them"
    return f"Labelled target sentences were held out to judge by{learns}.{candidates}"


def _told(entry: Entry) -> str:
    return "-" if entry.value is None else f"{entry.value:.4g}"


def render_race(race: Race) -> str:
    """The race as people read it."""
    rows = [["candidate", "value", "source dev", "updates", "seconds"]]
    for entry in race.entries:
        source = "-" if entry.source is None else f"{100 * entry.source:.2f}"
        mark = " *" if entry.recipe == race.choice else ""
        rows.append([entry.recipe + mark, _told(entry), source, f"{entry.updates:,}", f"{entry.seconds:.1f}"])
    lines = [f"race of {count(len(race.entries), 'recipe')}, {race.budget}, judged by {race.measure}", ""]
    lines += [*aligned(rows), ""]
    lines += [f"left out: {name}. {why}" for name, why in race.left_out.items()]
    return "\n".join([*lines, *race.reasons])
