"""One run of `acclimate adapt`, from its settings to its folder; before it the race of recipe auto, or a committee."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import typer

from acclimate.cli.more_text import pool_fingerprint, require_reader, with_pool, with_text
from acclimate.cli.places import check_folder_to_write
from acclimate.cli.progress import stderr_console, warn
from acclimate.cli.report import has_no_target, markdown, summary
from acclimate.cli.run_folder import default_folder, require_free, told_how_to_go_on
from acclimate.cli.settings import AdaptSettings
from acclimate.cli.task import read_task, tell_coverage, with_recipe_options
from acclimate.comparison.committee import consult, expected_time, render_committee, require_committee, teach
from acclimate.comparison.race import Race, race, render_race
from acclimate.comparison.race_settings import AUTO, RaceSettings
from acclimate.comparison.scheduler import is_expected
from acclimate.inference.predict import require_spans
from acclimate.layout import MEMBERS, TRAINING
from acclimate.runs.budget import Budget
from acclimate.runs.checksummed_json import read_checksummed, write_checksummed
from acclimate.runs.cost import expected_cost
from acclimate.runs.evidence import DOMAINS, FeatureKeeper, domains_json, feature_keeper
from acclimate.runs.fingerprint import run_fingerprint
from acclimate.runs.folder import begin
from acclimate.runs.lock import locked
from acclimate.runs.result import Outcome
from acclimate.runs.run import forget_peak, save_run
from acclimate.runs.settings import SharedSettings
from acclimate.runs.task import Task
from acclimate.runs.train import train_run
from acclimate.settings import UsageError, complete, dump_yaml
from acclimate.training.engine import is_main_process
from acclimate.training.progress_bar import TrainingBar


def run_adapt(settings: AdaptSettings, out: Path | None, overwrite: bool, quiet: bool, as_json: bool) -> None:
    """Train, compare, save, and print what came of it."""
    started = time.monotonic()
    require_reader(settings)
    settings = with_recipe_options(with_text(settings, settings.target_text))
    console = stderr_console(quiet or not is_main_process())
    tell, loud = console.print, warn if is_main_process() else console.print
    task = read_task(settings, loud)
    fingerprint = {
        **run_fingerprint(task, settings),
        "committee": settings.committee.fingerprint(),
        "pool": pool_fingerprint(settings),
        "minutes": settings.minutes,
    }
    folder = default_folder(settings, fingerprint, overwrite) if out is None else out
    check_folder_to_write("--out", folder, "a run")
    tell(f"{settings.recipe}: {task.describe()}\nrun folder: {folder}")
    if has_no_target(settings):
        tell("No --target was given: there is nothing to adapt to, and the tagger learns from the source alone.")
    keeper, found, lesson = feature_keeper(task), None, None
    with locked(folder), told_how_to_go_on(folder, overwrite):
        goes_on = require_free(folder, fingerprint, overwrite) if is_main_process() else False
        if settings.committee.members:
            _require_committee(task, settings)
        elif settings.recipe == AUTO:
            settings, found = run_race(settings, task, folder, tell, lambda: begin(folder, fingerprint, overwrite))
            tell(f"{found.choice} is taken. {found.reasons[0]}")
            overwrite = False  # what was there is gone, and the race has begun
        if (settings.pool.files or settings.minutes) and not goes_on and found is None and is_main_process():
            begin(folder, fingerprint, overwrite)
            overwrite = False
        chosen = with_recipe_options(with_pool(settings, task, folder, goes_on, tell))
        if goes_on:
            tell(f"{folder} holds the beginning of this run: it goes on from there.")
        elif not console.quiet and not settings.minutes:
            _tell_plan(chosen, task, folder, tell)
        if chosen.committee.members:
            begin(folder, fingerprint, overwrite)
            overwrite, lesson = False, consult(task, chosen, chosen.committee, folder, tell=tell)
        train = train_run if lesson is None else partial(teach, lesson, chosen.committee)
        budget, told = _budget(chosen, task, folder, goes_on, started, tell)
        forget_peak()
        with TrainingBar(console) as bar:
            outcome = train(
                task,
                chosen,
                folder,
                watcher=bar,
                look=keeper,
                began=lambda ready: tell_coverage(ready.tagger, settings, tell, loud),
                overwrite=overwrite,
                fingerprint=fingerprint,
                budget=budget,
            )
            outcome = replace(outcome, remarks=(*outcome.remarks, *told))
        if is_main_process():
            settings = settings.model_copy(update={"training": outcome.training})
            about: dict[str, Any] = {} if found is None else {"race": found.as_dict()}
            about |= {} if lesson is None else {"committee": lesson.as_dict(outcome)}
            origin = "" if found is None else render_race(found)
            origin = origin if lesson is None else render_committee(about["committee"])
            report = _save(folder, task, settings, outcome, keeper, about, origin)
            said = json.dumps(report, ensure_ascii=False) if as_json else summary(outcome, settings, folder, origin)
            typer.echo(said)


def _save(
    folder: Path,
    task: Task,
    settings: AdaptSettings,
    outcome: Outcome,
    keeper: FeatureKeeper,
    about: Mapping[str, Any],
    origin: str,
) -> dict[str, Any]:
    """The folder of the finished run; gives its report."""
    files: dict[str, str | bytes] = {
        "settings.yaml": dump_yaml(settings),
        "report.md": markdown(outcome, settings, origin),
        DOMAINS: domains_json(task, keeper),
        **keeper.files(),
    }
    if "race" in about:
        files["race.json"] = json.dumps(about["race"], indent=2, ensure_ascii=False)
    about = {"run": str(folder), "data": task.fingerprint(), **about}
    report = save_run(folder, settings.seed, outcome, files, about=about, keeps_before=True)
    clear_race(folder)
    if not settings.committee.keep:
        shutil.rmtree(folder / MEMBERS, ignore_errors=True)
    return report


def _require_committee(task: Task, settings: AdaptSettings) -> None:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError("A committee is led by one process: its members work side by side with committee.jobs.")
    if settings.minutes is not None:
        raise UsageError("--minutes shortens one run, not a committee: leave out --minutes or --members.")
    if settings.recipe == AUTO:
        raise UsageError("A race chooses one recipe. Name those of the members: --set committee.recipes=NAME,NAME.")
    require_committee(task, settings, settings.committee)


def _tell_plan(settings: AdaptSettings, task: Task, folder: Path, tell: Callable[[str], Any]) -> None:
    """The stages, and how long they will take. What cannot be timed will refuse by itself."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        return
    tell("timing a few updates of every stage")
    try:
        with torch.random.fork_rng():
            if settings.committee.members:
                tell(expected_time(task, settings, settings.committee, folder))
            else:
                tell(expected_cost(task, settings).told())
    except Exception as failure:
        if not is_expected(failure):
            raise


_BUDGET = "budget.json"


def _budget(
    settings: AdaptSettings, task: Task, folder: Path, goes_on: bool, started: float, tell: Callable[[str], Any]
) -> tuple[Budget, tuple[str, ...]]:
    """What is made shorter, and what to say of it. A run that goes on keeps to what was found when it began: another
    timing would end in other weights."""
    if settings.minutes is None:
        return Budget(), ()
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError("--minutes times the run in one process: leave it out where several train together.")
    place = folder / TRAINING / _BUDGET
    if not (goes_on and place.is_file()):
        tell("timing a few updates of every stage")
        with torch.random.fork_rng():
            cost = expected_cost(task, settings)
        budget = Budget.of(cost, 60 * settings.minutes - (time.monotonic() - started))
        told = budget.told(settings.minutes, cost)
        tell(f"{budget.cut(cost).told()}\n{told}")
        write_checksummed(place, {**budget.as_dict(), "told": told})
    kept = read_checksummed(place)
    told = kept.pop("told")
    return Budget.from_dict(kept), (told,)


_FOLDER = "race"


def run_race(
    settings: AdaptSettings, task: Task, folder: Path, tell: Callable[[str], Any], begin: Callable[[], Any]
) -> tuple[AdaptSettings, Race]:
    """The settings of a run of the winner, and how it came to win. `begin` takes the folder when nothing is refused."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError("A race is made by one process: let it choose first, then train the winner with several.")
    require_spans(task.target_test, task.source_test)  # the winner is scored on them when the budget is spent
    options = complete(RaceSettings, settings.options, where="options of recipe auto")
    shared = SharedSettings(**{name: getattr(settings, name) for name in SharedSettings.model_fields})
    found = race(task, folder / "training" / _FOLDER, options, shared, seed=settings.seed, tell=tell, begin=begin)
    own = options.each.get(found.choice, {})
    return with_recipe_options(settings.model_copy(update={"recipe": found.choice, "options": own})), found


def clear_race(folder: Path) -> None:
    """The candidates are not needed any more when the winner is trained."""
    shutil.rmtree(folder / "training" / _FOLDER, ignore_errors=True)
