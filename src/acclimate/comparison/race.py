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
from acclimate.evaluation.table import count
from acclimate.model.storage import read_sealed_json
from acclimate.recipes.catalogue import BASELINE, RECIPES, find_recipe
from acclimate.runs.checksummed_json import put_kept, read_kept
from acclimate.runs.cost import expected_cost
from acclimate.runs.prepare import CHOSEN_WITH_TARGET_LABELS
from acclimate.runs.task import Task
from acclimate.runs.trial import REPORT, Ground, Trial, TrialSettings
from acclimate.settings import UsageError, complete, differences
from acclimate.training.rehearsal import Cost
from acclimate.training.selectors import DevelopmentScore

_PLAN = "race-plan.json"


def race(
    task: Task,
    out: str | Path,
    settings: RaceSettings | Mapping[str, Any] | None = None,
    trial: TrialSettings | Mapping[str, Any] | None = None,
    *,
    seed: int = 1,
    tell: Callable[[str], Any] = lambda line: None,
    begin: Callable[[], Any] = lambda: None,
) -> Race:
    """Let recipes race, and say which one to take.

    task: the corpora; the test parts are dropped before anything else is done.
    out: a folder below it for every run. What is finished there is not done again, what was cut off goes on.
    settings: budget, candidates and judge. trial: tagger and training, as all candidates have them.
    begin: called when nothing can be refused any more, before the first thing is written.
    """
    if not isinstance(settings, RaceSettings):
        settings = complete(RaceSettings, settings or {}, where="options of auto")
    if not isinstance(trial, TrialSettings):
        trial = complete(TrialSettings, trial or {}, where="settings of the race")
    if not task.has_target:
        raise UsageError("A race judges recipes on the target: give target text (target).")
    task, held = _without_tests(task), None
    if task.target_labelled is not None:
        task, held = hold_out(task, settings.held_out, seed)
    names, left_out = candidates(task, settings, trial.tagger.encoder, held is not None)
    trials = _trials(names, Path(out), settings, trial, seed)
    ground = Ground.of(task)
    if held is None:
        require_judge(settings, list(trials.values()), ground)
    begin()
    share, failed = _share(trials, ground, Path(out), settings, tell)
    left_out |= failed
    runners = {name: each for name, each in trials.items() if name not in left_out}
    named = named_judge(settings, next(iter(trials.values())), ground)
    asked = {judge_of(named, number) for number in (len(runners), 2)}  # some may fail, and few ask another judge
    finished: dict[str, tuple[Trial, float]] = {}
    for name, each in runners.items():
        short = replace(each, settings=each.settings.model_copy(update={"share": share}))
        tell(f"{name}: {share:.0%} of its updates")
        try:
            finished[name] = short, run_trial(short, ground, () if held is not None else sorted(asked))
        except Exception as failure:
            if not is_expected(failure):
                raise
            left_out[name] = str(failure)
    selector = judge_of(named, len(finished))
    values = judged([trial for trial, _ in finished.values()], selector, held)
    entries = [_entry(trial, values[trial.name], seconds) for trial, seconds in finished.values()]
    measure = selector if held is None else DevelopmentScore(held, "held-out target").name
    budget = read_budget(settings.budget)
    notes = notes_on(settings, selector) if held is None else ()
    used = _labels_used([trial for trial, _ in finished.values()], task)
    return Race.of(entries, left_out, measure, budget, share, held is not None, used, notes)


def candidates(task: Task, settings: RaceSettings, encoder: str, has_judges: bool) -> tuple[list[str], dict[str, str]]:
    """Who takes part, source-only first: of equals the first is taken. And why the others do not."""
    asked = settings.recipes or [name for name in RECIPES if name not in LEFT_TO_THE_USER]
    names, left_out = [BASELINE.name], {}
    for name in dict.fromkeys(asked):
        recipe = find_recipe(name)
        obstacle = obstacle_for(recipe, task, encoder)
        if not obstacle and recipe.trains_target(task.source, task.target_labelled) and not has_judges:
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


def _trials(names: list[str], out: Path, settings: RaceSettings, trial: TrialSettings, seed: int) -> dict[str, Trial]:
    folders = {name: out / name / f"seed-{seed}" for name in names}
    made = {}
    for name in names:
        options = complete(find_recipe(name).options, settings.each.get(name, {}), where=f"options of recipe {name}")
        own = trial.model_copy(update={"options": options.model_dump(mode="json")})
        made[name] = Trial(name, seed, own, folders[name], None if name == BASELINE.name else folders[BASELINE.name])
    return made


def _share(
    trials: Mapping[str, Trial], ground: Ground, out: Path, settings: RaceSettings, tell: Callable[[str], Any]
) -> tuple[float, dict[str, str]]:
    """How much of its updates every candidate can make within the budget, and who cannot be run at all. Kept on disk:
    a race that goes on must not find another answer."""
    place = out / _PLAN
    asked = {"data": ground.fingerprint, **settings.model_dump(mode="json")}
    if place.is_file():
        found = read_kept(place)
        changed = differences(found["asked"], asked)
        if changed:
            shown = "\n".join(changed[:12])
            raise UsageError(f"{out} holds a race that was begun otherwise:\n{shown}\nChoose another folder.")
        return found["share"], found["failed"]
    tell("timing a few updates of each recipe")
    costs: dict[str, Cost] = {}
    failed: dict[str, str] = {}
    for name, trial in trials.items():
        try:
            costs[name] = expected_cost(trial, ground)
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
    put_kept(place, {"asked": asked, "share": share, "failed": failed})
    return share, failed


def _labels_used(trials: Sequence[Trial], task: Task) -> tuple[str, ...]:
    """What candidates had of target labels, apart from the judge's."""
    used: tuple[str, ...] = ()
    if task.target_labelled is not None and any(trial.recipe != BASELINE.name for trial in trials):
        used += (f"{count(len(task.target_labelled), 'labelled target sentence')} to learn from",)
    if any(CHOSEN_WITH_TARGET_LABELS in read_sealed_json(trial.folder / REPORT)["remarks"] for trial in trials):
        used += ("target dev sentences to choose their states by",)
    return used


def _entry(trial: Trial, value: float | None, seconds: float) -> Entry:
    report = read_sealed_json(trial.folder / REPORT)
    source = report["source"]
    return Entry(
        trial.recipe,
        value,
        report["training_updates"],
        round(seconds, 1),
        None if source is None else source["after"]["span"]["f1"],
    )
