"""One run of `acclimate adapt`, step by step, from its settings to its folder."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import typer
from rich.console import Console

from acclimate.cli.outputs import check_folder_to_write, resumable, stderr_console, warn
from acclimate.cli.report import has_no_target, markdown, summary
from acclimate.cli.settings import AdaptSettings
from acclimate.cli.task import default_folder, print_coverage, read_task, with_recipe_options
from acclimate.comparison.committee import (
    Lesson,
    auto_committee,
    consult,
    expected_time,
    render_committee,
    require_committee,
    teach,
)
from acclimate.comparison.scheduler import is_expected
from acclimate.data.problems import InputError
from acclimate.data.selection.select import select_text
from acclimate.inference.predict import require_spans
from acclimate.layout import MEMBERS, TRAINING
from acclimate.recipes.acclimate import ACCLIMATE
from acclimate.recipes.catalogue import AUTO
from acclimate.recipes.domain_tuning import ADVERSARIAL_MASKING
from acclimate.runs.budget import Budget, expected_cost
from acclimate.runs.evidence import DOMAINS, FeatureKeeper, domains_json, feature_keeper
from acclimate.runs.fingerprint import file_digest, run_fingerprint
from acclimate.runs.folder import begin, locked, read_checksummed, require_free, write_checksummed
from acclimate.runs.result import Outcome
from acclimate.runs.run import forget_peak, save_run
from acclimate.runs.task import Task
from acclimate.runs.train import train_run
from acclimate.settings import UsageError, dump_yaml
from acclimate.training.engine import is_main_process
from acclimate.training.progress_bar import TrainingBar

_BUDGET = "budget.json"
_SELECTED = "selected.txt.gz"
_SHORTEST = 3  # words of a sentence worth selecting


def run_adapt(settings: AdaptSettings, out: Path | None, overwrite: bool, quiet: bool, as_json: bool) -> None:
    """Read the corpora, train, compare, save, and print the result."""
    started = time.monotonic()
    require_text_reader(settings)
    settings = with_recipe_options(with_text(settings, settings.target_text))
    console = stderr_console(quiet or not is_main_process())
    task = read_task(settings, warn if is_main_process() else console.print)
    if settings.recipe == AUTO:
        committee = auto_committee(task, settings.committee, settings.tagger.encoder)
        settings = settings.model_copy(update={"committee": committee})
    fingerprint = _fingerprint(task, settings)
    folder = default_folder(settings, fingerprint, overwrite) if out is None else out
    check_folder_to_write("--out", folder, "a run")
    console.print(f"{settings.recipe}: {task.describe()}\nrun folder: {folder}")
    if has_no_target(settings):
        console.print("No --target was given: there is nothing to adapt to. The tagger learns from the source alone.")
    run = _Run(task, settings, folder, fingerprint, console, started, overwrite, feature_keeper(task))
    with locked(folder), resumable(folder, overwrite):
        run.begin()
        run.select_text()
        run.print_expected_time()
        run.ask_committee()
        run.plan_budget()
        outcome = run.train()
        if is_main_process():
            report = run.save(outcome)
            shown = summary(outcome, settings, folder, run.about_committee(outcome))
            typer.echo(json.dumps(report, ensure_ascii=False) if as_json else shown)


def _fingerprint(task: Task, settings: AdaptSettings) -> dict[str, Any]:
    """All that two runs with the same weights have in common."""
    digests = [file_digest(Path(file)) for file in settings.pool.files]
    return {
        **run_fingerprint(task, settings),
        "committee": settings.committee.fingerprint(),
        "pool": {**settings.pool.model_dump(mode="json"), "files": digests},
        "minutes": settings.minutes,
    }


@dataclass
class _Run:
    """The steps of one run. `settings` are those that are saved, `effective` those with the selected text."""

    task: Task
    settings: AdaptSettings
    folder: Path
    fingerprint: dict[str, Any]
    console: Console
    started: float
    overwrite: bool
    features: FeatureKeeper
    resumes: bool = False
    lesson: Lesson | None = None
    budget: Budget = field(default_factory=Budget)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.effective = self.settings

    def begin(self) -> None:
        """Refuse what cannot be trained, and take the folder where files are written before the training."""
        settings = self.settings
        if is_main_process():
            self.resumes = require_free(self.folder, self.fingerprint, self.overwrite)
        if settings.committee.members:
            _require_committee(self.task, settings)
        early = settings.pool.files or settings.minutes or settings.committee.members
        if early and not self.resumes and is_main_process():
            begin(self.folder, self.fingerprint, self.overwrite)
            self.overwrite = False

    def select_text(self) -> None:
        """Select the sentences of the pool that are most like the target's, once, and tune on them as well."""
        pool, out = self.settings.pool, self.folder / TRAINING / _SELECTED
        if not pool.files:
            return
        assert self.task.target is not None
        if not (self.resumes and out.is_file()):
            self.console.print(f"selecting {pool.sentences:,} sentences like {self.task.target.name} out of the pool")
            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
            how: dict[str, Any] = {"measure": pool.measure, "sentences": True, "shortest": _SHORTEST, "jobs": cores}
            found = select_text(self.task.target, pool.files, pool.sentences, out, **how)
            size = f"{found.megabytes:,.1f} MB, {found.words_per_line:.1f} words each"
            self.console.print(f"{found.lines_kept:,} selected from {size}")
        self.effective = with_recipe_options(with_text(self.settings, (str(out),)))

    def print_expected_time(self) -> None:
        """Print the stages and how long they will take. What cannot be timed is refused later, by the training."""
        if self.resumes:
            self.console.print(f"{self.folder} holds the beginning of this run: it goes on from there.")
        if self.resumes or self.console.quiet or self.settings.minutes or _processes() > 1:
            return
        self.console.print("timing a few updates of every stage")
        committee = self.effective.committee
        try:
            with torch.random.fork_rng():
                if committee.members:
                    expected = expected_time(self.task, self.effective, committee, self.folder)
                else:
                    expected = expected_cost(self.task, self.effective).describe()
        except Exception as failure:
            if not is_expected(failure):
                raise
        else:
            self.console.print(expected)

    def ask_committee(self) -> None:
        """Train the members of a committee, and let them label the target's text."""
        committee = self.effective.committee
        if committee.members:
            self.lesson = consult(self.task, self.effective, committee, self.folder, tell=self.console.print)

    def plan_budget(self) -> None:
        """Shorten the stages to fit --minutes. A resumed run keeps its first plan: another timing would end in other
        weights."""
        minutes = self.settings.minutes
        if minutes is None:
            return
        if _processes() > 1:
            raise UsageError("--minutes times the run in one process: leave it out where several train together.")
        place = self.folder / TRAINING / _BUDGET
        if not (self.resumes and place.is_file()):
            self.console.print("timing a few updates of every stage")
            with torch.random.fork_rng():
                cost = expected_cost(self.task, self.effective)
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
        train = train_run if self.lesson is None else partial(teach, self.lesson, self.effective.committee)
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

    def about_committee(self, outcome: Outcome) -> str:
        """The members and their scores; empty without a committee."""
        return "" if self.lesson is None else render_committee(self.lesson.as_dict(outcome))

    def save(self, outcome: Outcome) -> dict[str, Any]:
        """Write the folder of the finished run; returns its report."""
        settings = self.settings.model_copy(update={"training": outcome.training})
        files: dict[str, str | bytes] = {
            "settings.yaml": dump_yaml(settings),
            "report.md": markdown(outcome, settings, self.about_committee(outcome)),
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


def _require_committee(task: Task, settings: AdaptSettings) -> None:
    if _processes() > 1:
        raise UsageError("A committee is led by one process: its members work side by side with committee.jobs.")
    if settings.minutes is not None:
        raise UsageError("--minutes shortens one run, not a committee: leave out --minutes or --members.")
    require_spans(task.target_test, task.source_test)  # scored only when all members are trained
    require_committee(task, settings, settings.committee)


def require_text_reader(settings: AdaptSettings) -> None:
    """Refuse more text of the target where the recipe does not read it."""
    files = {"--target-text": settings.target_text, "--pool": settings.pool.files}
    given = [option for option, names in files.items() if names]
    if given and settings.recipe not in (ACCLIMATE.name, ADVERSARIAL_MASKING.name):
        raise UsageError(
            f"Recipe {settings.recipe} does not tune the encoder to text, so {' and '.join(given)} would not be read: "
            f"take {ACCLIMATE.name} or {ADVERSARIAL_MASKING.name}, or put the text into --target."
        )
    if settings.pool.files and settings.target is None:
        raise UsageError("--pool selects sentences like the target's, and there is no --target.")
    for file in (*settings.target_text, *settings.pool.files):
        if not Path(file).is_file():
            raise InputError("there is no such text file.", file=file)


def with_text(settings: AdaptSettings, files: tuple[str, ...]) -> AdaptSettings:
    """The settings of a recipe that tunes on these files as on the target's own text."""
    if not files:
        return settings
    options = dict(settings.options)
    if settings.recipe == ACCLIMATE.name:
        if options.get("tuning") is False:
            raise UsageError("options.tuning=false: there is no domain tuning that could read more text.")
        options["domain_tuning"] = _with_extra(options.get("domain_tuning") or {}, files)
    else:
        options = _with_extra(options, files)
    return settings.model_copy(update={"options": options})


def _with_extra(tuning: dict[str, Any], files: tuple[str, ...]) -> dict[str, Any]:
    return {**tuning, "extra": list(dict.fromkeys((*tuning.get("extra", ()), *files))), "extra_as_target": True}
