"""One run of `acclimate adapt`, step by step, from its settings to its folder."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import typer
from rich.console import Console

from acclimate.cli.outputs import check_folder_to_write, resumable, stderr_console, warn
from acclimate.cli.report import findings, has_no_target, markdown, next_steps
from acclimate.cli.settings import AdaptSettings
from acclimate.cli.task import default_folder, print_coverage, read_task, with_recipe_options, with_text
from acclimate.inference.predict import require_spans
from acclimate.layout import MEMBERS, TRAINING
from acclimate.recipes.catalogue import AUTO
from acclimate.runs.fingerprint import file_digest, run_fingerprint
from acclimate.runs.folder import begin, locked, read_checksummed, require_free, write_checksummed
from acclimate.runs.result import Outcome
from acclimate.runs.run import DOMAINS, FeatureKeeper, domains_json, feature_keeper, forget_peak, save_run
from acclimate.runs.task import Task
from acclimate.runs.train import train_run
from acclimate.settings import UsageError, dump_yaml
from acclimate.training.loop import is_main_process
from acclimate.training.progress_bar import TrainingBar

if TYPE_CHECKING:
    from acclimate.comparison.committee import Lesson
    from acclimate.runs.budget import Budget

Result = TypeVar("Result")
_BUDGET = "budget.json"
_SELECTED = "selected.txt.gz"
_SHORTEST = 3  # words of a sentence worth selecting


def run_adapt(settings: AdaptSettings, out: Path | None, overwrite: bool, quiet: bool, as_json: bool) -> None:
    """Read the corpora, train, compare, save, and print the result."""
    started = time.monotonic()
    settings = with_recipe_options(with_text(settings, settings.target_text))
    console = stderr_console(quiet or not is_main_process())
    task = read_task(settings, warn if is_main_process() else console.print)
    settings = with_committee(settings, task)
    fingerprint = fingerprint_of(task, settings)
    folder = default_folder(settings, fingerprint, overwrite) if out is None else out
    check_folder_to_write("--out", folder, "a run")
    console.print(f"{settings.recipe}: {task.describe()}\nrun folder: {folder}")
    if has_no_target(settings):
        console.print("No --target was given: there is nothing to adapt to. The tagger learns from the source alone.")
    run = AdaptRun(task, settings, folder, fingerprint, console, started, overwrite)
    with locked(folder), resumable(folder, overwrite):
        run.take_folder()
        if settings.pool.files:
            run.select_text()
        run.print_expected_time()
        if settings.committee.members:
            run.ask_committee()
        if settings.minutes is not None:
            run.plan_budget(settings.minutes)
        outcome = run.train()
        if is_main_process():
            shown = findings(outcome, settings, run.describe_committee(outcome))
            report = run.save(outcome, shown)
            typer.echo(
                json.dumps(report, ensure_ascii=False) if as_json else f"{shown}\n\n{next_steps(outcome, folder)}"
            )


def with_committee(settings: AdaptSettings, task: Task) -> AdaptSettings:
    """The settings with the members that recipe auto chooses; refuses what no committee can be made of."""
    if settings.recipe != AUTO and not settings.committee.members:
        return settings
    from acclimate.comparison.committee import auto_committee, require_committee

    if settings.recipe == AUTO:
        chosen = auto_committee(task, settings.committee, settings.tagger.encoder)
        settings = settings.model_copy(update={"committee": chosen})
    if _processes() > 1:
        raise UsageError("A committee is led by one process: its members work side by side with committee.jobs.")
    if settings.minutes is not None:
        raise UsageError("--minutes shortens one run, not a committee: leave out --minutes or --members.")
    require_spans(task.target_test, task.source_test)  # scored only when all members are trained
    require_committee(task, settings, settings.committee)
    return settings


def fingerprint_of(task: Task, settings: AdaptSettings) -> dict[str, Any]:
    """All that two runs with the same weights have in common."""
    digests = [file_digest(Path(file)) for file in settings.pool.files]
    committee = settings.committee.model_dump(mode="json", exclude={"jobs", "keep"})  # these change no weight
    return {
        **run_fingerprint(task, settings),
        "committee": committee if settings.committee.members else None,
        "pool": {**settings.pool.model_dump(mode="json"), "files": digests},
        "minutes": settings.minutes,
    }


@dataclass
class AdaptRun:
    """The steps of one run. `settings` are those that are saved, `effective` those with the selected text."""

    task: Task
    settings: AdaptSettings
    folder: Path
    fingerprint: dict[str, Any]
    console: Console
    started: float
    overwrite: bool
    resumes: bool = False
    lesson: Lesson | None = None
    budget: Budget | None = None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.effective = self.settings
        self.features: FeatureKeeper = feature_keeper(self.task)

    def take_folder(self) -> None:
        """Refuse a folder that is taken; where files are written before the training, the run begins here."""
        if not is_main_process():
            return
        settings = self.settings
        self.resumes = require_free(self.folder, self.fingerprint, self.overwrite)
        early = settings.pool.files or settings.minutes or settings.committee.members
        if early and not self.resumes:
            begin(self.folder, self.fingerprint, self.overwrite)
            self.overwrite = False

    def select_text(self) -> None:
        """Select the sentences of the pool that are most like the target's, once, and tune on them as well."""
        from acclimate.data.processes import cores
        from acclimate.data.selection.select import select_text

        pool, out = self.settings.pool, self.folder / TRAINING / _SELECTED
        assert self.task.target is not None
        if not (self.resumes and out.is_file()):
            self.console.print(f"selecting {pool.sentences:,} sentences like {self.task.target.name} out of the pool")
            selection = select_text(
                self.task.target,
                pool.files,
                pool.sentences,
                out,
                measure=pool.measure,
                sentences=True,
                shortest=_SHORTEST,
                jobs=cores(),
            )
            size = f"{selection.megabytes:,.1f} MB, {selection.words_per_line:.1f} words each"
            self.console.print(f"{selection.lines_kept:,} selected from {size}")
        self.effective = with_recipe_options(with_text(self.settings, (str(out),)))

    def print_expected_time(self) -> None:
        """Print the stages and how long they will take. What cannot be timed is refused later, by the training."""
        if self.resumes:
            self.console.print(f"{self.folder} holds the beginning of this run: it goes on from there.")
        if self.resumes or self.console.quiet or self.settings.minutes or _processes() > 1:
            return
        from acclimate.comparison.scheduler import is_expected

        try:
            expected = self._timed(self._expected_time)
        except Exception as failure:
            if not is_expected(failure):
                raise
        else:
            self.console.print(expected)

    def _expected_time(self) -> str:
        if self.settings.committee.members:
            from acclimate.comparison.committee import expected_time

            return expected_time(self.task, self.effective, self.settings.committee, self.folder)
        from acclimate.runs.budget import expected_cost

        return expected_cost(self.task, self.effective).describe()

    def _timed(self, work: Callable[[], Result]) -> Result:
        """Time updates without changing what is drawn later."""
        self.console.print("timing a few updates of every stage")
        with torch.random.fork_rng():
            return work()

    def ask_committee(self) -> None:
        """Train the members of a committee, and let them label the target's text."""
        from acclimate.comparison.committee import consult

        self.lesson = consult(self.task, self.effective, self.settings.committee, self.folder, tell=self.console.print)

    def plan_budget(self, minutes: float) -> None:
        """Shorten the stages to fit --minutes. A resumed run keeps its first plan: another timing would end in other
        weights."""
        from acclimate.runs.budget import Budget, expected_cost

        if _processes() > 1:
            raise UsageError("--minutes times the run in one process: leave it out where several train together.")
        place = self.folder / TRAINING / _BUDGET
        if not (self.resumes and place.is_file()):
            cost = self._timed(lambda: expected_cost(self.task, self.effective))
            budget = Budget.of(cost, 60 * minutes - (time.monotonic() - self.started))
            shortened = budget.describe(minutes, cost)
            self.console.print(f"{budget.cut(cost).describe()}\n{shortened}")
            write_checksummed(place, {**budget.as_dict(), "shortened": shortened})
        content = read_checksummed(place)
        self.warnings = (content.pop("shortened"),)
        self.budget = Budget.from_dict(content)

    def train(self) -> Outcome:
        """Train the recipe, or the student of the committee."""
        forget_peak()
        train: Callable[..., Outcome] = train_run
        if self.lesson is not None:
            from acclimate.comparison.committee import teach

            train = partial(teach, self.lesson, self.settings.committee)
        with TrainingBar(self.console) as bar:
            outcome = train(
                self.task,
                self.effective,
                self.folder,
                watcher=bar,
                look=self.features,
                began=lambda ready: print_coverage(ready.tagger, self.settings, self.console.print, warn),
                overwrite=self.overwrite,
                fingerprint=self.fingerprint,
                budget=self.budget,
            )
        return replace(outcome, remarks=(*outcome.remarks, *self.warnings))

    def describe_committee(self, outcome: Outcome) -> str:
        """The members and their scores; empty without a committee."""
        if self.lesson is None:
            return ""
        from acclimate.comparison.committee import render_committee

        return render_committee(self.lesson.as_dict(outcome))

    def save(self, outcome: Outcome, findings: str) -> dict[str, Any]:
        """Write the folder of the finished run; returns its report."""
        settings = self.settings.model_copy(update={"training": outcome.training})
        files: dict[str, str | bytes] = {
            "settings.yaml": dump_yaml(settings),
            "report.md": markdown(outcome, settings, findings),
            DOMAINS: domains_json(self.task, self.features),
            **self.features.files(),
        }
        about: dict[str, Any] = {"run": str(self.folder), "data": self.task.fingerprint()}
        if self.lesson is not None:
            about["committee"] = self.lesson.as_dict(outcome)
        report = save_run(self.folder, settings.seed, outcome, files, about=about, keeps_before=True)
        if not settings.committee.keep:
            shutil.rmtree(self.folder / MEMBERS, ignore_errors=True)
        return report


def _processes() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))
