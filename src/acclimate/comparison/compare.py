"""Compare recipes: every one with every seed, in a folder each, and what all of them together show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from acclimate.comparison.choices import choices_of
from acclimate.comparison.estimate import estimate_lines
from acclimate.comparison.judging import ALL_SELECTORS, read_judgements, require_selectors
from acclimate.comparison.learnt_test import learnt_by_any, remarks_on_test
from acclimate.comparison.making import make_all
from acclimate.comparison.material_file import MATERIAL, write_material
from acclimate.comparison.plan import plan_trials, require_scorable_test, with_baseline
from acclimate.comparison.remarks import remarks_on_makes, remarks_on_scores, remarks_on_share
from acclimate.comparison.run_result import read_run
from acclimate.comparison.running import run_trial
from acclimate.comparison.silence import told_silent
from acclimate.comparison.summary import Comparison, by_recipe
from acclimate.comparison.tables import COMPARISON, write_tables
from acclimate.comparison.workers import Job
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.significance import Metric
from acclimate.evaluation.table import count
from acclimate.inference.evaluate import require_spans
from acclimate.model.storage import forget_checksums, write_checksums
from acclimate.recipes.catalogue import BASELINE
from acclimate.runs.folder import State, notes_its_files, require_same_data, state_of
from acclimate.runs.lock import in_locked_folder
from acclimate.runs.prepare import SelectorName
from acclimate.runs.task import TaggerSettings, Task
from acclimate.runs.trial import Ground, Trial
from acclimate.training.settings import TrainingSettings

Tell = Callable[[str], Any]


@in_locked_folder
def compare(
    source: Corpus,
    target: Corpus | None,
    recipes: Sequence[str],
    seeds: int | Sequence[int],
    out: str | Path,
    *,
    target_labelled: Corpus | None = None,
    source_dev: Corpus | None = None,
    source_test: Corpus | None = None,
    target_dev: Corpus | None = None,
    target_test: Corpus | None = None,
    tagger: TaggerSettings | Mapping[str, Any] | None = None,
    training: TrainingSettings | Mapping[str, Any] | None = None,
    select: SelectorName = "auto",
    train_on_dev: bool = False,
    share: float = 1.0,
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

    Corpora as `adapt` takes them. The test's gold tags are used when all runs are over, and no run ever sees them;
    without any, only what the selectors would choose is told.

    seeds: how many (1, 2, …), or which.
    out: every run is a folder below it (`runs/RECIPE/seed-N`). What is finished there is not done again, what was cut
        off goes on. The tables are written there, too: comparison.json, comparison.csv and comparison.md.
    share: of the updates of every stage of every recipe; below 1 for a first look.
    each: settings for single recipes, `{"datnet": {"options": …, "training": …, "tagger": …}}`, over the shared ones.
    against: all others are compared with this one. It is added where it is not among the recipes.
    executor: who makes the runs; a Dask cluster's (`client.get_executor()`) takes them to machines that see the same
        files. Without one they are made here, by `jobs` processes, one after the other for one job. Several GPUs are
        shared out among the processes.
    threads: of each run; 1 where several are made side by side. The last digits of sums may depend on it.
    estimate: time a few updates of each recipe first, and tell how long all will take.
    tell: hears how it goes, a line at a time.
    """
    task = Task(source, source_dev, source_test, _text(target), target_labelled, target_dev, target_test)
    selectors = tuple(dict.fromkeys(selectors))
    require_selectors(selectors)
    numbers = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))
    names = with_baseline(recipes, against)
    shared = {"tagger": tagger, "training": training, "select": select, "train_on_dev": train_on_dev, "share": share}
    trials = plan_trials(names, numbers, Path(out), task, shared, each or {})
    ground = Ground.of(task)
    require_same_data(Path(out), ground)
    states = {trial.name: state_of(trial, ground) for trial in trials}
    _tell_states(trials, states, tell)
    left = [trial for trial in trials if states[trial.name] != "finished"]
    require_spans(target_test, source_test)
    require_scorable_test(target_test, names, ground)
    if threads is None and (executor is not None or jobs > 1):
        threads = 1
    if estimate and left:
        tell("timing a few updates of each recipe")
        for line in estimate_lines(left, ground, 1 if executor is not None else jobs, threads):
            tell(line)
    failures = _make_runs(trials, ground, selectors, executor, jobs, threads, tell)
    done = [trial for trial in trials if trial.name not in failures]
    if not done:
        raise InputError(f"no run could be finished. {next(iter(failures.values()))}")
    said = read_judgements(done, selectors)
    runs = [read_run(trial, target_test, said[trial.name]) for trial in done]
    choices = choices_of(selectors, runs)
    scored = source if target_test is None or not target_test.is_labelled else target_test
    metric: Metric = "token accuracy" if scored.kind == "plain" else "span f1"
    learnt = learnt_by_any(names, task, train_on_dev)
    results = by_recipe(names, runs, against, target_test, metric, rounds)
    comparison = Comparison(
        title=f"{source.name} → {'(no target)' if target is None else target.name}",
        against=against,
        recipes=results,
        choices=choices,
        failures=failures,
        remarks=(
            *remarks_on_scores(target_test, selectors, choices),
            *told_silent(selectors, choices, done, ground),
            *remarks_on_share(share),
            *learnt.remarks,
            *remarks_on_test(names, task, select, train_on_dev),
            *remarks_on_makes(results, against),
        ),
        metric=metric,
        learnt=learnt.target,
    )
    forget_checksums(Path(out), COMPARISON, MATERIAL)
    write_tables(comparison, Path(out))
    write_material(task, Path(out))
    write_checksums(Path(out), COMPARISON, MATERIAL)
    return comparison


def _text(target: Corpus | None) -> Corpus | None:
    return None if target is None else target.unlabelled()


def _tell_states(trials: Sequence[Trial], states: Mapping[str, State], tell: Tell) -> None:
    found = list(states.values())
    tell(
        f"{count(len(trials), 'run')}: {found.count('finished')} finished before, {found.count('begun')} to go on "
        f"with, {found.count('new') + found.count('damaged')} to begin"
    )
    for trial in trials:
        if states[trial.name] == "damaged":
            tell(f"{trial.folder} is damaged: this run is made again.")
    unsure = sum(states[trial.name] == "finished" and not notes_its_files(trial) for trial in trials)
    if unsure:
        tell(
            f"{count(unsure, 'finished run')} of an earlier version, which did not note the content of encoder and "
            "vector files: taken without that check."
        )


def _make_runs(
    trials: Sequence[Trial],
    ground: Ground,
    selectors: tuple[str, ...],
    executor: Executor | None,
    jobs: int,
    threads: int | None,
    tell: Tell,
) -> dict[str, str]:
    """Make what is missing; returns why runs failed, by their names."""
    names = {trial.folder: trial.name for trial in trials}
    work = [
        Job(trial.name, run_trial, (trial, ground, selectors, threads), names.get(trial.baseline or Path()))
        for trial in trials
    ]
    return make_all(work, executor, jobs, tell)
