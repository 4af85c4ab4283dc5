"""Compare recipes: every one with every seed, in a folder each, and what all of them together show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

from acclimate.comparison.results import Choice, Comparison, RecipeResult, by_recipe, choose, read_run
from acclimate.comparison.scheduler import (
    Job,
    estimate_lines,
    make_all,
    plan_runs,
    with_baseline,
)
from acclimate.comparison.selectors import (
    ALL_SELECTORS,
    missing_judgements,
    read_judgements,
    require_selectors,
    run_and_judge,
)
from acclimate.comparison.tables import MATERIAL, write_material, write_tables
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.significance import Metric
from acclimate.inference.predict import require_scorable, require_spans
from acclimate.layout import COMPARISON
from acclimate.model.storage import forget_checksums, write_checksums
from acclimate.recipes.catalogue import BASELINE, find_recipe
from acclimate.runs.folder import in_locked_folder, require_same_data
from acclimate.runs.prepare import (
    TARGET_TEST,
    LearntTests,
    look_for_learnt,
    remarks_on_choice,
    remarks_on_text,
    taught_by,
)
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
    estimate: bool = False,
    tell: Tell = lambda line: None,
) -> Comparison:
    """Train every recipe with every seed and compare them on the target's test sentences.

    task: the corpora. No run sees the test's gold tags; without any, only the choices of the selectors are shown.
    seeds: how many (1, 2, …), or which.
    out: every run is a folder below it (`runs/RECIPE/seed-N`), beside the tables comparison.json, .csv and .md.
        Finished runs are not made again, interrupted ones go on.
    settings: tagger, training, select, train_on_dev and share, for all recipes.
    each: settings for single recipes, `{"datnet": {"options": …, "training": …, "tagger": …}}`.
    against: the recipe that all others are compared with.
    executor: makes the runs; a Dask cluster's (`client.get_executor()`) takes them to machines that see the same files.
        Without one, `jobs` processes share the GPUs.
    estimate: time a few updates of each recipe first. tell: receives progress, a line at a time.
    """
    target = None if task.target is None else task.target.unlabelled()
    task, test, out = replace(task, target=target), task.target_test, Path(out)
    if not isinstance(settings, SharedSettings):
        settings = complete(SharedSettings, settings or {}, where="settings of the comparison")
    selectors = tuple(dict.fromkeys(selectors))
    require_selectors(selectors)
    numbers = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))
    names = with_baseline(recipes, against)
    runs = plan_runs(names, numbers, out, task, settings, each or {})
    blind = BlindTask.of(task)
    require_same_data(out, blind.fingerprints)
    left = _unfinished(runs, blind, tell)
    require_spans(test, task.source_test)
    if test is not None and test.is_labelled:
        for name in names:
            require_scorable(blind.labels_for(name), test)
    threads = 1 if executor is not None or jobs > 1 else None
    if estimate and left:
        tell("timing a few updates of each recipe")
        for line in estimate_lines(left, blind, 1 if executor is not None else jobs, threads):
            tell(line)
    by_folder = {run.folder: run.name for run in runs}
    work = [
        Job(run.name, run_and_judge, (run, blind, selectors, threads), by_folder.get(run.baseline or Path()))
        for run in runs
    ]
    failures = make_all(work, executor, jobs, tell)
    done = [run for run in runs if run.name not in failures]
    if not done:
        raise InputError(f"no run could be finished. {next(iter(failures.values()))}")
    comparison = _summarise(task, blind, names, done, failures, against, selectors, settings, rounds)
    forget_checksums(out, COMPARISON, MATERIAL)
    write_tables(comparison, out)
    write_material(task, out)
    write_checksums(out, COMPARISON, MATERIAL)
    return comparison


def _unfinished(runs: Sequence[PlannedRun], task: BlindTask, tell: Tell) -> list[PlannedRun]:
    states = {run.name: run.state(task) for run in runs}
    count_of = Counter(states.values())
    tell(
        f"{count(len(runs), 'run')}: {count_of['finished']} finished before, {count_of['begun']} to go on "
        f"with, {count_of['new'] + count_of['damaged']} to begin"
    )
    for run in runs:
        if states[run.name] == "damaged":
            tell(f"{run.folder} is damaged: this run is made again.")
    return [run for run in runs if states[run.name] != "finished"]


def _summarise(
    task: Task,
    blind: BlindTask,
    names: Sequence[str],
    done: Sequence[PlannedRun],
    failures: Mapping[str, str],
    against: str,
    selectors: Sequence[str],
    settings: SharedSettings,
    rounds: int,
) -> Comparison:
    """Score the finished runs with the test's gold tags, and put them together."""
    test = task.target_test
    judgements = read_judgements(done, selectors)
    runs = [read_run(run, test, judgements[run.name]) for run in done]
    choices = tuple(choice for name in selectors if (choice := choose(name, runs)) is not None)
    scored = task.source if test is None or not test.is_labelled else test
    metric: Metric = "token accuracy" if scored.kind == "plain" else "span f1"
    learnt = what_is_learnt(names, task, settings)
    results = by_recipe(names, runs, against, test, metric, rounds)
    remarks = (
        *remarks_on_scores(test, selectors, choices),
        *missing_judgements(selectors, choices, done, blind),
        *((f"A first look: every recipe made {100 * settings.share:.3g} % of its updates.",) * (settings.share < 1)),
        *learnt.remarks,
        *remarks_on_makes(results, against),
    )
    title = f"{task.source.name} → {'(no target)' if task.target is None else task.target.name}"
    return Comparison(title, against, results, choices, failures, remarks, metric, learnt.target)


def what_is_learnt(recipes: Sequence[str], task: Task, settings: SharedSettings) -> LearntTests:
    """What all recipes together learn of the test with labels; where test sentences choose the models as well, or stand
    in the target's text."""
    test, source, select = task.target_test, task.source, settings.select
    if test is None or not test.is_labelled:
        return LearntTests(None, ())
    if settings.train_on_dev and task.source_dev is not None:
        source += task.source_dev
    taught = {
        where: corpus
        for name in recipes
        for where, corpus in taught_by(find_recipe(name), source, task.target_labelled).items()
    }
    learnt = look_for_learnt({TARGET_TEST: test}, taught)
    own = [name for name in recipes if task.trains_target(name)]
    by_source = select in ("auto", "source-dev") and not settings.train_on_dev and len(own) < len(recipes)
    by_target = select == "target-dev" or (select == "auto" and own)
    judges = {
        "source dev": task.source_dev if by_source else None,
        "target dev": task.target_dev if by_target else None,
    }
    remarks = [*learnt.remarks, *remarks_on_choice({TARGET_TEST: test}, judges)]
    without_text = {BASELINE.name, *(name for name in own if find_recipe(name).own_tagger == "always")}
    if not set(recipes) <= without_text:
        remarks += remarks_on_text(test, task.target)
    return LearntTests(learnt.target, tuple(remarks))


def remarks_on_scores(test: Corpus | None, selectors: Sequence[str], choices: Sequence[Choice]) -> Iterator[str]:
    """Why nothing is scored on the target."""
    if test is not None and test.is_labelled:
        return
    why = "No target test sentences were given" if test is None else f"{test.name} has no gold tags"
    message = f"{why}: nothing can be scored on the target."
    if choices:
        message += " Shown is what the selectors would choose without labels."
    elif not selectors:
        message += " No selector was asked, either."
    yield message


def remarks_on_makes(recipes: Iterable[RecipeResult], against: str) -> Iterator[str]:
    """Which recipes change the tagger itself, and how they were compared all the same."""
    results = {result.recipe: result for result in recipes if result.runs}
    base = results[against].runs[0].make if against in results else ()
    for name, result in results.items():
        run = result.runs[0]
        if run.make == base or run.target is None:
            continue
        made = " and ".join(run.make) or "nothing of that"
        if result.against is not None:
            score = f"{100 * result.against.found.first:.2f}"
            yield f"{name}: the tagger has {made}. Its change is against {against} on such a tagger, which has {score}."
        else:
            other = " and ".join(base) or "none of that"
            yield (
                f"{name}: not tested against {against}. Its tagger has {made}, that of {against} {other}: the "
                "difference would not tell the recipe from the tagger. Set the same for both."
            )
