"""Which run a selector would have chosen, and what that would have cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.comparison.run_result import RunResult


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
