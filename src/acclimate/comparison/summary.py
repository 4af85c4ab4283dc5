"""Runs put together: means and deviations by recipe, tests against one of them, and what selectors would choose."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from acclimate.comparison.run_result import RunResult
from acclimate.comparison.selectors import Choice
from acclimate.data.corpus import Corpus
from acclimate.evaluation.seen import Reservation, Shared, reservation
from acclimate.evaluation.significance import Metric, SeedsComparison, compare_seeds, holm


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean over seeds, and the standard deviation between them (0 for a single one)."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)


@dataclass(frozen=True)
class Against:
    """A recipe compared with the one that all are compared with. Both p-values also with Holm's correction for as many
    recipes as there are in the table."""

    found: SeedsComparison
    bootstrap_holm: float
    permutation_holm: float

    def as_dict(self) -> dict[str, Any]:
        corrected = {"bootstrap_p_holm": self.bootstrap_holm, "permutation_p_holm": self.permutation_holm}
        return {**self.found.as_dict(), **corrected}


@dataclass(frozen=True)
class RecipeResult:
    """All runs of one recipe."""

    recipe: str
    runs: tuple[RunResult, ...]
    against: Against | None = None  # None for the one that others are compared with, and without gold tags

    @property
    def means(self) -> dict[str, Mean | None]:
        """By the names of `RunResult.figures`; None where no run has such a figure."""
        return _means([run.figures for run in self.runs])

    @property
    def sources_after(self) -> dict[str, Mean | None]:
        """The score of each source after training, where several were joined."""
        return _means([run.sources_after for run in self.runs])

    def as_dict(self) -> dict[str, Any]:
        means, sources = (
            {
                name: None if found is None else {"mean": found.mean, "std": found.deviation}
                for name, found in figures.items()
            }
            for figures in (self.means, self.sources_after)
        )
        return {
            "recipe": self.recipe,
            "seeds": [run.seed for run in self.runs],
            **means,
            "sources_after": sources,
            "against": None if self.against is None else self.against.as_dict(),
        }


def _means(rows: Sequence[Mapping[str, float | None]]) -> dict[str, Mean | None]:
    found = {
        name: [value for row in rows if (value := row.get(name)) is not None] for name in (rows[0] if rows else ())
    }
    return {name: Mean.of(values) if values else None for name, values in found.items()}


@dataclass(frozen=True)
class Comparison:
    """Several recipes on one task. `failures` says why a run is missing."""

    title: str
    against: str
    recipes: tuple[RecipeResult, ...]
    choices: tuple[Choice, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    metric: Metric = "span f1"
    learnt: Shared | None = None  # how much of the target's test was learnt with labels, by any of the recipes

    @property
    def runs(self) -> list[RunResult]:
        return [run for recipe in self.recipes for run in recipe.runs]

    @property
    def is_scored(self) -> bool:
        """Whether the target's test sentences had gold tags."""
        return any(run.target is not None for run in self.runs)

    @property
    def leaders(self) -> list[str]:
        """The recipes with the highest mean on the target: several where the digits that are printed (hundredths of a
        percent) do not tell them apart; none without gold tags."""
        scored = {recipe.recipe: recipe.means["target_f1"] for recipe in self.recipes if recipe.runs}
        means = {name: round(100 * found.mean, 2) for name, found in scored.items() if found is not None}
        return [name for name, mean in means.items() if mean == max(means.values())]

    @property
    def best(self) -> str | None:
        """The first of the leaders, but the one that others are compared with before all: to reach it is not to be
        better. None without gold tags."""
        leaders = self.leaders
        return self.against if self.against in leaders else next(iter(leaders), None)

    @property
    def reservation(self) -> Reservation | None:
        """Why nothing may be claimed of any recipe; None if nothing speaks against it."""
        means = next((recipe.means for recipe in self.recipes if recipe.recipe == self.against), {})
        found = (means.get(name) for name in ("source_after", "target_f1"))
        source, target = (None if each is None else each.mean for each in found)
        return reservation(source, target, self.learnt)

    def of(self, recipe: str) -> RecipeResult:
        return next(result for result in self.recipes if result.recipe == recipe)

    def as_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "metric": self.metric,
            "against": self.against,
            "best": self.best,
            "leaders": self.leaders,
            "recipes": [recipe.as_dict() for recipe in self.recipes],
            "selectors": [asdict(choice) for choice in self.choices],
            "failures": dict(self.failures),
            "remarks": list(self.remarks),
            "target_test_learnt": None if self.learnt is None else self.learnt.as_dict(),
            "runs": [run.as_dict() for run in self.runs],
        }


def by_recipe(
    recipes: Iterable[str],
    runs: Sequence[RunResult],
    against: str,
    test: Corpus | None,
    metric: Metric = "span f1",
    rounds: int = 1000,
) -> tuple[RecipeResult, ...]:
    """The runs of each recipe together, and how each recipe stands to the one named `against`."""
    grouped = {recipe: tuple(run for run in runs if run.recipe == recipe) for recipe in recipes}
    found: dict[str, SeedsComparison] = {}
    if test is not None and test.is_labelled:
        for recipe, own in grouped.items():
            others = {run.seed: fair for run in own if (fair := fair_prediction(run, against, runs)) is not None}
            compared = None if recipe == against else _compare(test, others, own, metric, rounds)
            if compared is not None:
                found[recipe] = compared
    drawn = dict(zip(found, holm([each.bootstrap_p for each in found.values()]), strict=True))
    swapped = dict(zip(found, holm([each.permutation_p for each in found.values()]), strict=True))
    return tuple(
        RecipeResult(recipe, own, Against(found[recipe], drawn[recipe], swapped[recipe]) if recipe in found else None)
        for recipe, own in grouped.items()
    )


def fair_prediction(run: RunResult, against: str, runs: Iterable[RunResult]) -> Corpus | None:
    """What to compare a run with: a tagger of the same make. That is the run of `against` with its seed, or the
    baseline that it has trained for itself; None where neither is there."""
    if run.before is not None and run.baseline == against:
        return run.before
    other = next((each for each in runs if each.recipe == against and each.seed == run.seed), None)
    return None if other is None or other.make != run.make else other.predicted


def _compare(
    test: Corpus, one: Mapping[int, Corpus], second: Sequence[RunResult], metric: Metric, rounds: int
) -> SeedsComparison | None:
    """Over the seeds that both have."""
    other = {run.seed: run.predicted for run in second if run.predicted is not None}
    seeds = sorted(one.keys() & other.keys())
    if not seeds:
        return None
    return compare_seeds(
        test, [one[seed] for seed in seeds], [other[seed] for seed in seeds], metric=metric, rounds=rounds
    )
