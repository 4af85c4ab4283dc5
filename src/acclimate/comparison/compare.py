"""Compare recipes: every one with every seed, in a folder each, and what all of them together show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

from acclimate.comparison.choices import choices_of, missing_judgements
from acclimate.comparison.judging import ALL_SELECTORS, read_judgements, require_selectors, run_and_judge
from acclimate.comparison.plan import plan_runs, require_scorable_test, with_baseline
from acclimate.comparison.run_result import read_run
from acclimate.comparison.scheduler import Job, estimate_lines, make_all
from acclimate.comparison.summary import Comparison, by_recipe
from acclimate.comparison.tables import MATERIAL, write_material, write_tables
from acclimate.comparison.warnings import (
    learnt_by_any,
    remarks_on_makes,
    remarks_on_scores,
    remarks_on_share,
    remarks_on_test,
)
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.significance import Metric
from acclimate.inference.predict import require_spans
from acclimate.layout import COMPARISON
from acclimate.model.storage import forget_checksums, write_checksums
from acclimate.recipes.catalogue import BASELINE
from acclimate.runs.folder import State, require_same_data
from acclimate.runs.lock import in_locked_folder
from acclimate.runs.run import PlannedRun
from acclimate.runs.settings import SharedSettings
from acclimate.runs.task import BlindTask, Task
from acclimate.settings import complete
from acclimate.spelling import count

Tell = Callable[[str], Any]


@in_locked_folder
def compare(
    task: Task,
    recipes: Sequence[str],
    seeds: int | Sequence[int],
    out: str | Path,
    *,
    settings: SharedSettings | Mapping[str, Any] | None = None,
    each: Mapping[str, Mapping[str, Any]] | None = None,
    against: str = BASELINE.name,
    selectors: Sequence[str] = ALL_SELECTORS,
    rounds: int = 1000,
    executor: Executor | None = None,
    jobs: int = 1,
    threads: int | None = None,
    estimate: bool = False,
    tell: Tell = lambda line: None,
) -> Comparison:
    """Train every recipe with every seed and compare them on the target's test sentences.

    task: the corpora. The test's gold tags are used when all runs are over, and no run ever sees them; without any,
        only what the selectors would choose is told.
    seeds: how many (1, 2, …), or which.
    out: every run is a folder below it (`runs/RECIPE/seed-N`). What is finished there is not done again, what was cut
        off goes on. The tables are written there, too: comparison.json, comparison.csv and comparison.md.
    settings: tagger, training, select, train_on_dev and share, for all recipes.
    each: settings for single recipes, `{"datnet": {"options": …, "training": …, "tagger": …}}`, over the shared ones.
    against: all others are compared with this one. It is added where it is not among the recipes.
    executor: who makes the runs; a Dask cluster's (`client.get_executor()`) takes them to machines that see the same
        files. Without one they are made here, by `jobs` processes, one after the other for one job. Several GPUs are
        shared out among the processes.
    threads: of each run; 1 where several are made side by side. The last digits of sums may depend on it.
    estimate: time a few updates of each recipe first, and tell how long all will take.
    tell: hears how it goes, a line at a time.
    """
    task, test, out = replace(task, target=_text(task.target)), task.target_test, Path(out)
    if not isinstance(settings, SharedSettings):
        settings = complete(SharedSettings, settings or {}, where="settings of the comparison")
    selectors = tuple(dict.fromkeys(selectors))
    require_selectors(selectors)
    numbers = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))
    names = with_baseline(recipes, against)
    planned = plan_runs(names, numbers, out, task, settings, each or {})
    blind = BlindTask.of(task)
    require_same_data(out, blind.fingerprints)
    states = {run.name: run.state(blind) for run in planned}
    _tell_states(planned, states, tell)
    left = [run for run in planned if states[run.name] != "finished"]
    require_spans(test, task.source_test)
    require_scorable_test(test, names, blind)
    if threads is None and (executor is not None or jobs > 1):
        threads = 1
    if estimate and left:
        tell("timing a few updates of each recipe")
        for line in estimate_lines(left, blind, 1 if executor is not None else jobs, threads):
            tell(line)
    failures = _make_runs(planned, blind, selectors, executor, jobs, threads, tell)
    done = [run for run in planned if run.name not in failures]
    if not done:
        raise InputError(f"no run could be finished. {next(iter(failures.values()))}")
    judgements = read_judgements(done, selectors)
    runs = [read_run(run, test, judgements[run.name]) for run in done]
    choices = choices_of(selectors, runs)
    scored = task.source if test is None or not test.is_labelled else test
    metric: Metric = "token accuracy" if scored.kind == "plain" else "span f1"
    learnt = learnt_by_any(names, task, settings.train_on_dev)
    results = by_recipe(names, runs, against, test, metric, rounds)
    comparison = Comparison(
        title=f"{task.source.name} → {'(no target)' if task.target is None else task.target.name}",
        against=against,
        recipes=results,
        choices=choices,
        failures=failures,
        remarks=(
            *remarks_on_scores(test, selectors, choices),
            *missing_judgements(selectors, choices, done, blind),
            *remarks_on_share(settings.share),
            *learnt.remarks,
            *remarks_on_test(names, task, settings.select, settings.train_on_dev),
            *remarks_on_makes(results, against),
        ),
        metric=metric,
        learnt=learnt.target,
    )
    forget_checksums(out, COMPARISON, MATERIAL)
    write_tables(comparison, out)
    write_material(task, out)
    write_checksums(out, COMPARISON, MATERIAL)
    return comparison


def _text(target: Corpus | None) -> Corpus | None:
    return None if target is None else target.unlabelled()


def _tell_states(runs: Sequence[PlannedRun], states: Mapping[str, State], tell: Tell) -> None:
    found = list(states.values())
    tell(
        f"{count(len(runs), 'run')}: {found.count('finished')} finished before, {found.count('begun')} to go on "
        f"with, {found.count('new') + found.count('damaged')} to begin"
    )
    for run in runs:
        if states[run.name] == "damaged":
            tell(f"{run.folder} is damaged: this run is made again.")


def _make_runs(
    runs: Sequence[PlannedRun],
    task: BlindTask,
    selectors: tuple[str, ...],
    executor: Executor | None,
    jobs: int,
    threads: int | None,
    tell: Tell,
) -> dict[str, str]:
    """Make what is missing; returns why runs failed, by their names."""
    names = {run.folder: run.name for run in runs}
    work = [
        Job(run.name, run_and_judge, (run, task, selectors, threads), names.get(run.baseline or Path())) for run in runs
    ]
    return make_all(work, executor, jobs, tell)
