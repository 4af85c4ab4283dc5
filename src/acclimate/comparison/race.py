"""A race of recipes: short runs of all that can be run here, and the one that is preferred without target labels.

The target's test sentences have no place in it. "Do not adapt" takes part like any other, and wins where no recipe is
preferred to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from acclimate.comparison.budget import read_budget
from acclimate.comparison.failures import is_expected
from acclimate.comparison.plan import obstacle_for
from acclimate.comparison.race_judge import hold_out, judged, named_judge, require_judge
from acclimate.comparison.race_result import Entry, Race
from acclimate.comparison.race_settings import LEFT_TO_THE_USER, RaceSettings, judge_of, notes_on
from acclimate.comparison.running import run_trial
from acclimate.data.problems import InputError
from acclimate.layout import REPORT
from acclimate.model.storage import read_sealed_json
from acclimate.recipes.catalogue import BASELINE, RECIPES, find_recipe
from acclimate.runs.checksummed_json import read_checksummed, write_checksummed
from acclimate.runs.cost import expected_cost
from acclimate.runs.prepare import CHOSEN_WITH_TARGET_LABELS
from acclimate.runs.run import PlannedRun
from acclimate.runs.settings import RunSettings, SharedSettings
from acclimate.runs.task import BlindTask, Task
from acclimate.settings import UsageError, complete, differences
from acclimate.spelling import argument, count
from acclimate.training.rehearsal import Cost
from acclimate.training.stage import DevelopmentScore

_PLAN = "race-plan.json"


def race(
    task: Task,
    out: str | Path,
    options: RaceSettings | Mapping[str, Any] | None = None,
    settings: SharedSettings | Mapping[str, Any] | None = None,
    *,
    seed: int = 1,
    tell: Callable[[str], Any] = lambda line: None,
    begin: Callable[[], Any] = lambda: None,
) -> Race:
    """Let recipes race, and say which one to take.

    task: the corpora; the test parts are dropped before anything else is done.
    out: a folder below it for every run. What is finished there is not done again, what was cut off goes on.
    options: budget, candidates and judge. settings: tagger and training, as all candidates have them.
    begin: called when nothing can be refused any more, before the first thing is written.
    """
    if not isinstance(options, RaceSettings):
        options = complete(RaceSettings, options or {}, where="options of auto")
    if not isinstance(settings, SharedSettings):
        settings = complete(SharedSettings, settings or {}, where="settings of the race")
    if not task.has_target:
        raise UsageError(f"A race judges recipes on the target: give target text ({argument('target')}).")
    task, held = _without_tests(task), None
    if task.target_labelled is not None:
        task, held = hold_out(task, options.held_out, seed)
    names, left_out = candidates(task, options, settings.tagger.encoder, held is not None)
    runs = _planned(names, Path(out), options, settings, seed)
    blind = BlindTask.of(task)
    if held is None:
        require_judge(options, list(runs.values()), blind)
    begin()
    share, failed = _share(runs, blind, Path(out), options, tell)
    left_out |= failed
    runners = {name: each for name, each in runs.items() if name not in left_out}
    named = named_judge(options, next(iter(runs.values())), blind)
    asked = {judge_of(named, number) for number in (len(runners), 2)}  # some may fail, and few ask another judge
    finished: dict[str, tuple[PlannedRun, float]] = {}
    for name, each in runners.items():
        short = replace(each, settings=each.settings.model_copy(update={"share": share}))
        tell(f"{name}: {share:.0%} of its updates")
        try:
            finished[name] = short, run_trial(short, blind, () if held is not None else sorted(asked))
        except Exception as failure:
            if not is_expected(failure):
                raise
            left_out[name] = str(failure)
    selector = judge_of(named, len(finished))
    values = judged([run for run, _ in finished.values()], selector, held)
    entries = [_entry(run, values[run.name], seconds) for run, seconds in finished.values()]
    measure = selector if held is None else DevelopmentScore(held, "held-out target").name
    budget = read_budget(options.budget)
    notes = notes_on(options, selector) if held is None else ()
    used = _labels_used([run for run, _ in finished.values()], task)
    return Race.of(entries, left_out, measure, budget, share, held is not None, used, notes)


def candidates(task: Task, settings: RaceSettings, encoder: str, has_judges: bool) -> tuple[list[str], dict[str, str]]:
    """Who takes part, source-only first: of equals the first is taken. And why the others do not."""
    asked = settings.recipes or [name for name in RECIPES if name not in LEFT_TO_THE_USER]
    names, left_out = [BASELINE.name], {}
    for name in dict.fromkeys(asked):
        recipe = find_recipe(name)
        obstacle = obstacle_for(recipe, task, encoder)
        if not obstacle and task.trains_target(name) and not has_judges:
            obstacle = (
                "It trains a tagger of the target's own, which only labelled target sentences could judge, and there "
                "are too few to hold any out."
            )
        if obstacle:
            left_out[name] = obstacle
        elif name not in names:
            names.append(name)
    for name in settings.each:
        if name not in names and name not in left_out:
            raise UsageError(f"options.each: {name!r} takes no part in the race: {', '.join(names)}.")
    return names, left_out


def _without_tests(task: Task) -> Task:
    """Nothing that is scored in the end, and no tag of the target's text."""
    text = None if task.target is None else task.target.unlabelled()
    return replace(task, source_test=None, target=text, target_test=None, watch=None)


def _planned(
    names: Sequence[str], out: Path, race: RaceSettings, shared: SharedSettings, seed: int
) -> dict[str, PlannedRun]:
    folders = {name: out / name / f"seed-{seed}" for name in names}
    planned = {}
    for name in names:
        options = complete(find_recipe(name).options, race.each.get(name, {}), where=f"options of recipe {name}")
        own = RunSettings(**dict(shared), recipe=name, seed=seed, options=options.model_dump(mode="json"))
        planned[name] = PlannedRun(own, folders[name], None if name == BASELINE.name else folders[BASELINE.name])
    return planned


def _share(
    runs: Mapping[str, PlannedRun], task: BlindTask, out: Path, settings: RaceSettings, tell: Callable[[str], Any]
) -> tuple[float, dict[str, str]]:
    """How much of its updates every candidate can make within the budget, and who cannot be run at all. Kept on disk:
    a race that goes on must not find another answer."""
    place = out / _PLAN
    asked = {"data": task.fingerprint(), **settings.model_dump(mode="json")}
    if place.is_file():
        found = read_checksummed(place)
        changed = differences(found["asked"], asked)
        if changed:
            shown = "\n".join(changed[:12])
            raise UsageError(f"{out} holds a race that was begun otherwise:\n{shown}\nChoose another folder.")
        return found["share"], found["failed"]
    tell("timing a few updates of each recipe")
    costs: dict[str, Cost] = {}
    failed: dict[str, str] = {}
    for name, run in runs.items():
        try:
            costs[name] = expected_cost(task, run.settings, run.baseline is not None)
        except Exception as failure:
            if not is_expected(failure):
                raise
            failed[name] = str(failure)
    if BASELINE.name in failed:
        raise InputError(f"not even {BASELINE.name} can be run: {failed[BASELINE.name]}")
    total, budget = sum(costs.values(), Cost()), read_budget(settings.budget)
    whole = total.updates if budget.unit == "updates" else total.seconds / 60
    share = min(1.0, float(f"{budget.amount / max(whole, 1e-9):.3g}"))
    out.mkdir(parents=True, exist_ok=True)
    write_checksummed(place, {"asked": asked, "share": share, "failed": failed})
    return share, failed


def _labels_used(runs: Sequence[PlannedRun], task: Task) -> tuple[str, ...]:
    """What candidates had of target labels, apart from the judge's."""
    used: tuple[str, ...] = ()
    if task.target_labelled is not None and any(run.recipe != BASELINE.name for run in runs):
        used += (f"{count(len(task.target_labelled), 'labelled target sentence')} to learn from",)
    if any(CHOSEN_WITH_TARGET_LABELS in read_sealed_json(run.folder / REPORT)["remarks"] for run in runs):
        used += ("target dev sentences to choose their states by",)
    return used


def _entry(run: PlannedRun, value: float | None, seconds: float) -> Entry:
    report = read_sealed_json(run.folder / REPORT)
    source = report["source"]
    return Entry(
        run.recipe,
        value,
        report["training_updates"],
        round(seconds, 1),
        None if source is None else source["after"]["span"]["f1"],
    )
