"""One run of `acclimate adapt`, from its settings to its folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import typer

from acclimate.cli.auto import clear_race, run_race
from acclimate.cli.encoder_run import told_how_to_go_on
from acclimate.cli.places import check_folder_to_write
from acclimate.cli.progress import stderr_console, warn
from acclimate.cli.report import has_no_target, markdown, summary
from acclimate.cli.run_folder import claim_of, default_folder, finish, goes_on, require_free, save_before, take
from acclimate.cli.settings import AdaptSettings
from acclimate.cli.task import build_tagger, read_task, tell_coverage, with_recipe_options
from acclimate.comparison.failures import is_expected
from acclimate.comparison.race_settings import AUTO
from acclimate.model.siblings import save_siblings
from acclimate.runs.cost import expected_cost
from acclimate.runs.evidence import DOMAINS, PREDICTIONS, domains_json, feature_keeper, predictions_json
from acclimate.runs.lock import locked
from acclimate.runs.task import Task
from acclimate.runs.train import adapt
from acclimate.settings import dump_yaml
from acclimate.training.engine import is_main_process
from acclimate.training.optimizers import completed
from acclimate.training.progress_bar import TrainingBar


def run_adapt(settings: AdaptSettings, out: Path | None, overwrite: bool, quiet: bool, as_json: bool) -> None:
    """Train, compare, save, and print what came of it."""
    settings = with_recipe_options(settings)
    console = stderr_console(quiet or not is_main_process())
    task = read_task(settings, warn if is_main_process() else console.print)
    is_race = settings.recipe == AUTO
    if not is_race:
        torch.manual_seed(settings.seed)
        tagger = build_tagger(settings, task)
        settings = settings.model_copy(update={"training": completed(settings.training, tagger)})
    claim = claim_of(settings, task.fingerprint())
    folder = default_folder(settings, claim, overwrite) if out is None else out
    check_folder_to_write("--out", folder, "a run")
    console.print(f"{settings.recipe}: {task.describe()}\nrun folder: {folder}")
    if has_no_target(settings):
        console.print(
            "No --target was given: there is nothing to adapt to, and the tagger learns from the source alone."
        )
    with locked(folder), told_how_to_go_on(folder, overwrite):
        if is_main_process():
            require_free(folder, claim, overwrite)
        found = None
        if is_race:
            settings, found = run_race(settings, task, folder, console.print, lambda: take(folder, claim, overwrite))
            console.print(f"{found.choice} is taken. {found.reasons[0]}")
            torch.manual_seed(settings.seed)
            tagger = build_tagger(settings, task)
            settings = settings.model_copy(update={"training": completed(settings.training, tagger)})
        if goes_on(folder, claim) and not overwrite:
            console.print(f"{folder} holds the beginning of this run: it goes on from there.")
        elif not console.quiet:
            _tell_plan(settings, task, console.print)
        tell_coverage(tagger, settings, console.print, warn if is_main_process() else console.print)
        keeper = feature_keeper(task)
        with TrainingBar(console) as bar:
            outcome = adapt(
                tagger,
                task.source,
                task.target,
                settings.recipe,
                source_dev=task.source_dev,
                source_test=task.source_test,
                target_labelled=task.target_labelled,
                target_dev=task.target_dev,
                target_test=task.target_test,
                select=settings.select,
                train_on_dev=settings.train_on_dev,
                watch=task.watch,
                training=settings.training,
                seed=settings.seed,
                out=folder,
                watcher=bar,
                look=keeper,
                begin=None if is_race else lambda: take(folder, claim, overwrite),
                **settings.options,
            )
        if not is_main_process():
            return
        result = {"run": str(folder), "seed": settings.seed, "data": task.fingerprint(), **outcome.as_dict()}
        told = {}
        if found is not None:
            result["race"] = found.as_dict()
            told["race.json"] = json.dumps(found.as_dict(), indent=2, ensure_ascii=False)
        save_siblings(folder, {name: each.tagger for name, each in outcome.siblings.items()})
        save_before(folder, outcome.tagger_before)
        tagger.save(
            folder,
            **{
                "settings.yaml": dump_yaml(settings),
                "report.json": json.dumps(result, indent=2, ensure_ascii=False),
                "report.md": markdown(outcome, settings, found),
                PREDICTIONS: predictions_json(outcome),
                DOMAINS: domains_json(task, keeper),
                **keeper.files(),
                **told,
            },
        )
        clear_race(folder)
        finish(folder)
        typer.echo(json.dumps(result, ensure_ascii=False) if as_json else summary(outcome, settings, folder, found))


def _tell_plan(settings: AdaptSettings, task: Task, tell: Callable[[str], Any]) -> None:
    """The stages, and how long they will take. What cannot be timed will refuse by itself."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        return
    tell("timing a few updates of every stage")
    try:
        with torch.random.fork_rng():
            tell(expected_cost(task, settings).told())
    except Exception as failure:
        if not is_expected(failure):
            raise
