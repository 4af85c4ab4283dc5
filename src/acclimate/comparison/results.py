"""Results: what one run has shown, which run a selector prefers, and all runs put together."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.evaluation.counts import Tally, stored_f1
from acclimate.evaluation.scores import Scores, score
from acclimate.evaluation.seen import Reservation, Shared, reservation
from acclimate.evaluation.significance import Metric, SeedsComparison, compare_seeds, holm
from acclimate.layout import PREDICTIONS, REPORT
from acclimate.model.storage import read_sealed_json
from acclimate.model.tagger import read_seen
from acclimate.recipes.catalogue import BASELINE
from acclimate.runs.run import TARGET, PlannedRun


@dataclass(frozen=True)
class RunResult:
    """One recipe with one seed. `target` and `predicted` are None without a target test, `target` also without gold
    tags; source figures are None for a tagger with the target's labels."""

    recipe: str
    seed: int
    folder: str
    target: Scores | None
    predicted: Corpus | None
    source_before: float | None  # span F1 (accuracy for plain tags) of the baseline
    source_after: float | None
    updates: int
    seconds: float  # of training, what "before" takes left out unless the recipe starts from it
    megabytes: float  # the peak: of the GPU's tensors where one was used, else of the process
    on_gpu: bool
    chosen_by: str  # which state of the training was kept
    remarks: tuple[str, ...]
    judgements: Mapping[str, float | None]  # of the selectors
    baseline: str = BASELINE.name  # the recipe of its "before"
    make: tuple[str, ...] = ()  # what the recipe makes of the tagger, in words
    sources_after: Mapping[str, float | None] = field(default_factory=dict)  # span F1 of each, where there are several
    before: Corpus | None = None  # what a "before" of the same make predicted; None where the recipe makes nothing

    @property
    def name(self) -> str:
        return f"{self.recipe}, seed {self.seed}"

    @property
    def f1(self) -> float | None:
        return None if self.target is None else self.target.span.f1

    @property
    def figures(self) -> dict[str, float | None]:
        """The numbers that are averaged over seeds."""
        target = self.target
        groups = {} if target is None or target.unseen is None else target.unseen.mentions or target.unseen.words
        before, after = self.source_before, self.source_after
        return {
            "target_f1": self.f1,
            "target_precision": None if target is None else target.span.precision,
            "target_recall": None if target is None else target.span.recall,
            "seen_f1": _f1(groups.get("seen")),
            "unseen_f1": _f1(groups.get("unseen")),
            "source_before": before,
            "source_after": after,
            "source_change": None if before is None or after is None else after - before,
            "seconds": self.seconds,
            "megabytes": self.megabytes,
        }

    def as_dict(self) -> dict[str, Any]:
        return {
            "recipe": self.recipe,
            "seed": self.seed,
            "folder": self.folder,
            **self.figures,
            "memory_of": "gpu" if self.on_gpu else "process",
            "updates": self.updates,
            "chosen_by": self.chosen_by,
            "selectors": dict(self.judgements),
            "remarks": list(self.remarks),
            "make": list(self.make),
            "sources_after": dict(self.sources_after),
            "target_scores": None if self.target is None else self.target.as_dict(),
        }


def read_run(run: PlannedRun, test: Corpus | None, judgements: Mapping[str, float | None] | None = None) -> RunResult:
    """The result of a finished run, scored against the gold tags of `test`, if it has any."""
    report = read_sealed_json(run.folder / REPORT)
    predictions = read_sealed_json(run.folder / PREDICTIONS)
    answers = predictions[TARGET] or {"before": None, "after": None}
    predicted = _tagged(test, answers["after"])
    source, memory = report["source"], report["peak_megabytes"]
    on_gpu = bool(memory["gpu"])
    target = None
    if test is not None and test.is_labelled and predicted is not None:
        target = score(test, predicted, seen=read_seen(run.folder))
    return RunResult(
        recipe=run.recipe,
        seed=run.seed,
        folder=str(run.folder),
        target=target,
        predicted=predicted,
        source_before=stored_f1(source, "before"),
        source_after=stored_f1(source, "after"),
        updates=sum(stage["updates"] for stage in report["stages"]),
        seconds=report["training_seconds"],
        megabytes=memory["gpu"] if on_gpu else memory["process"],
        on_gpu=on_gpu,
        chosen_by=report["selector"],
        remarks=tuple(report["remarks"]),
        judgements=judgements or {},
        baseline=report["before"],
        make=tuple(report["make"]),
        sources_after={name: stored_f1(part, "after") for name, part in ((source or {}).get("parts") or {}).items()},
        before=_tagged(test, answers["before"]) if report["make"] else None,
    )


@dataclass(frozen=True)
class Choice:
    """The run that a selector prefers. `regret` is how much better the best run is on the test, `silent` counts runs
    without a value."""

    selector: str
    recipe: str
    seed: int
    value: float
    target_f1: float | None
    regret: float | None
    silent: int = 0


def choose(selector: str, runs: Sequence[RunResult]) -> Choice | None:
    """The run with the highest value, of equal ones the first; None where no run has one."""
    judged = [(run, value) for run in runs if (value := run.judgements.get(selector)) is not None]
    judged = [(run, value) for run, value in judged if math.isfinite(value)]
    if not judged:
        return None
    run, value = max(judged, key=lambda pair: pair[1])
    best = max((other.f1 for other in runs if other.f1 is not None), default=None)
    regret = None if best is None or run.f1 is None else best - run.f1
    return Choice(selector, run.recipe, run.seed, value, run.f1, regret, len(runs) - len(judged))


def _tagged(test: Corpus | None, tags: Sequence[Any] | None) -> Corpus | None:
    if test is None or tags is None:
        return None
    return Corpus(test.unlabelled().with_tags(tags).sentences, f"{test.name}, predicted", test.kind)


def _f1(group: Tally | None) -> float | None:
    """None for a group of which there is nothing, in gold and prediction alike."""
    return None if group is None or group.is_empty else group.f1


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
    """A recipe compared with another; p-values also with Holm's correction."""

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
        """The recipes with the highest mean on the target, as far as digits are printed; none without gold tags."""
        scored = {recipe.recipe: recipe.means["target_f1"] for recipe in self.recipes if recipe.runs}
        means = {name: round(100 * found.mean, 2) for name, found in scored.items() if found is not None}
        return [name for name, mean in means.items() if mean == max(means.values())]

    @property
    def best(self) -> str | None:
        """The first of the leaders, or the recipe that others are compared with if it is among them."""
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
    """The predictions of a baseline of the same make, of another run or trained by this one; None where there is
    none."""
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
