"""Which run a selector would have chosen, what that would have cost, and why a selector could judge none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.comparison.judging import AGREEMENT, material_for
from acclimate.comparison.run_result import RunResult
from acclimate.comparison.selectors.agreement import FEWEST
from acclimate.runs.run import PlannedRun
from acclimate.runs.task import BlindTask


@dataclass(frozen=True)
class Choice:
    """A selector, the run that it prefers, and the regret: how much better the best run is, on the test. The last two
    are None without gold tags. `silent` runs are those that the selector could not judge, `tied` ones have the same
    value as the chosen one, which is only the first of them."""

    selector: str
    recipe: str
    seed: int
    value: float
    f1: float | None
    regret: float | None
    silent: int = 0
    tied: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "selector": self.selector,
            "recipe": self.recipe,
            "seed": self.seed,
            "value": self.value,
            "target_f1": self.f1,
            "regret": self.regret,
            "silent": self.silent,
            "tied": self.tied,
        }


def choose(selector: str, runs: Sequence[RunResult]) -> Choice | None:
    """The run with the highest judgement, of equal ones the first; None where it could judge none."""
    judged = [(run, value) for run in runs if (value := run.judgements.get(selector)) is not None]
    judged = [(run, value) for run, value in judged if math.isfinite(value)]
    if not judged:
        return None
    run, value = max(judged, key=lambda pair: pair[1])
    best = max((other.f1 for other in runs if other.f1 is not None), default=None)
    regret = None if best is None or run.f1 is None else best - run.f1
    tied = sum(other == value for _, other in judged) - 1
    return Choice(selector, run.recipe, run.seed, value, run.f1, regret, len(runs) - len(judged), tied)


def choices_of(selectors: Iterable[str], runs: Sequence[RunResult]) -> tuple[Choice, ...]:
    found = (choose(selector, runs) for selector in selectors)
    return tuple(choice for choice in found if choice is not None)


NO_TEXT = "there is no target text"
NO_SOURCE = "there are no held-out source sentences to measure runs on"
LEARNT = "the source's dev sentences were learnt, too (train_on_dev)"
OWN = "a tagger of the target's own knows nothing of the source"

_ON_HELD_OUT_SOURCE = ("source-dev", "reverse-validation")
_ON_SOURCE = (*_ON_HELD_OUT_SOURCE, "mmd", "a-distance")


def why_no_judgement(selector: str, run: PlannedRun, task: BlindTask) -> str:
    """Why it will not judge this run, whatever comes of it; empty where it may."""
    target = task.target
    if target is None or not target.word_count:
        return NO_TEXT
    material = material_for(run, task, target)
    if selector in _ON_SOURCE and material.source is None:
        return OWN
    if selector in _ON_HELD_OUT_SOURCE and material.source_dev is None:
        return LEARNT if run.settings.train_on_dev else NO_SOURCE
    return ""


def missing_judgements(
    selectors: Sequence[str], choices: Sequence[Choice], runs: Sequence[PlannedRun], task: BlindTask
) -> Iterator[str]:
    """Which of the selectors could judge none of the runs, and why."""
    spoken = {choice.selector for choice in choices}
    mute: dict[str, list[str]] = {}
    for selector in selectors:
        if selector not in spoken:
            mute.setdefault(_reason(selector, runs, task), []).append(selector)
    for reason, names in mute.items():
        yield f"Could judge no run: {', '.join(names)}{reason and f' ({reason})'}."


def _reason(selector: str, runs: Sequence[PlannedRun], task: BlindTask) -> str:
    reasons = [why_no_judgement(selector, run, task) for run in runs]
    if all(reasons):
        return reasons[0]
    return f"it asks {FEWEST} runs at least" if selector == AGREEMENT and len(runs) < FEWEST else ""
