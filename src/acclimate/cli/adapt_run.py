"""One run of `acclimate adapt`, step by step, from its settings to its folder and what it tells people."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import typer
from rich.console import Console

from acclimate.cli.outputs import check_folder_to_write, resumable, stderr_console, warn
from acclimate.cli.reading import title_of
from acclimate.cli.settings import AdaptSettings
from acclimate.cli.task import default_folder, print_coverage, read_task, with_recipe_options, with_text
from acclimate.evaluation.scores import Scores
from acclimate.evaluation.significance import SURE
from acclimate.inference.predict import require_spans
from acclimate.layout import BEFORE, COMMITTEE, MEMBERS, TRAINING
from acclimate.recipes.catalogue import AUTO, BASELINE, START, TARGET_ONLY
from acclimate.runs.fingerprint import file_digest, run_fingerprint
from acclimate.runs.folder import begin, locked, read_checksummed, require_free, write_checksummed
from acclimate.runs.result import Advice, Change, Outcome
from acclimate.runs.run import DOMAINS, FeatureKeeper, domains_json, feature_keeper, forget_peak, save_run
from acclimate.runs.task import Task
from acclimate.runs.train import train_run
from acclimate.settings import UsageError, dump_yaml
from acclimate.spelling import count
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
            write_checksummed(place, {**asdict(budget), "shortened": shortened})
        content = read_checksummed(place)
        self.warnings = (content.pop("shortened"),)
        self.budget = Budget(**content)

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

    def save(self, outcome: Outcome, summary: str) -> dict[str, Any]:
        """Write the folder of the finished run; returns its report."""
        settings = self.settings.model_copy(update={"training": outcome.training})
        files: dict[str, str | bytes] = {
            "settings.yaml": dump_yaml(settings),
            "report.md": markdown(outcome, settings, summary),
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


def findings(outcome: Outcome, settings: AdaptSettings, origin: str = "") -> str:
    """What happened: how good, compared with what, and how sure. `origin` describes the committee."""
    lines = [origin, ""] if origin else []
    lines += [f"recipe {outcome.recipe}, seed {settings.seed}, model chosen by {outcome.selector}", ""]
    lines += _table(outcome)
    lines += ["", verdict(outcome)]
    if has_no_target(settings):
        lines.append("There was nothing to adapt to: no --target was given.")
    lines += outcome.remarks
    if outcome.advice is not None:
        lines += ["", advice_sentence(outcome.advice)]
    return "\n".join(lines)


def next_steps(outcome: Outcome, folder: Path) -> str:
    """Where the result is, and what to do with it."""
    advice = outcome.advice
    best = folder / BEFORE if advice is not None and advice.tagger == "before" else folder
    lines = [f"Tagger and report:  {folder}"]
    if advice is not None:
        lines.append(f"The tagger before:  {folder / BEFORE}")
    lines.append(f"Tag text:           acclimate predict {shlex.quote(str(best))} TEXT")
    lines.append(f"See what changed:   acclimate report {shlex.quote(str(folder))}")
    return "\n".join(lines)


def markdown(outcome: Outcome, settings: AdaptSettings, summary: str) -> str:
    """The page kept with the tagger. All figures stand in report.json, and in `acclimate report`."""
    begins = settings.tagger.start or "(no source)" if settings.source is None else title_of(settings.source)
    lines = [
        f"# {begins} → {settings.target or settings.target_labelled or '(no target)'}: {outcome.recipe}",
        *("", "```", summary, "```", "", "## Stages", ""),
        *("| stage | updates | kept | seconds |", "|---|---:|---:|---:|"),
    ]
    for stage in outcome.stages:
        figures = f"{stage['updates']:,} | {stage['kept_update']:,} | {stage['seconds']:,.1f}"
        lines.append(f"| {stage['stage']} | {figures} |")
    return "\n".join([*lines, "", "## Settings", "", "```yaml", dump_yaml(settings).rstrip(), "```", ""])


def advice_sentence(advice: Advice) -> str:
    which = {"before": 'the tagger "before", which was not adapted', "after": "the adapted tagger"}[advice.tagger]
    return f"Use {which}: {advice.why}."


def has_no_target(settings: AdaptSettings) -> bool:
    """Who forgot it would otherwise learn only that nothing was adapted, and not why."""
    return settings.target is None and settings.target_labelled is None


def _table(outcome: Outcome) -> list[str]:
    rows = [("", "", "before", "after", "change", "")]
    for domain, change in (("source", outcome.source), ("target", outcome.target)):
        if change is not None:
            rows.append(_row(domain, change.corpus, change))
            rows += [_row("", f"  {name}", part) for name, part in change.parts.items()]
        elif outcome.before != START.name or domain == "target":
            own = outcome.before == TARGET_ONLY.name and domain == "source"
            why = "none: the tagger is the target's own" if own else "no labelled test sentences given"
            rows.append((domain, why, "-", "-", "-", ""))
    for name, sibling in outcome.siblings.items():
        if sibling.scores is not None and sibling.corpus is not None:
            size = count(sibling.scores.sentences, "sentence")
            rows.append((name, sibling.corpus, "-", f"{100 * headline(sibling.scores):.2f}", "-", size))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if 2 <= at <= 4 else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    scored = outcome.target or outcome.source
    if scored is not None:
        lines.append(f"Scores in percent: {scored.after.scorer}.")
    if outcome.advice is not None:
        was = f"trained by recipe {outcome.before}, not adapted"
        start = "the tagger that it started from" if outcome.before == START.name else was
        now = "taught by the committee" if outcome.recipe == COMMITTEE else f"adapted by recipe {outcome.recipe}"
        lines.append(f"Before: {start}. After: {now}.")
    return lines


def _row(domain: str, name: str, change: Change) -> tuple[str, str, str, str, str, str]:
    before, after = headline(change.before), headline(change.after)
    moved = "" if change.comparison is None else f"{100 * (after - before):+.2f}"
    size = count(change.after.sentences, "sentence")
    return domain, name, f"{100 * before:.2f}", f"{100 * after:.2f}", moved, size


def headline(scores: Scores) -> float:
    """Span F1, which for plain tags is the accuracy."""
    return scores.span.f1


def verdict(outcome: Outcome) -> str:
    """Whether it helped, said plainly."""
    change = outcome.target
    if outcome.recipe == BASELINE.name:
        return "Nothing was adapted: this tagger is trained on the source alone, and before and after are the same."
    if outcome.recipe == TARGET_ONLY.name:
        return (
            "Nothing was transferred: this tagger is trained on the labelled target sentences alone, and before and "
            "after are the same."
        )
    if change is None:
        return "Whether this helps on the target cannot be said: give --target-test to find out."
    comparison = change.comparison
    assert comparison is not None  # two taggers were compared
    sure = (
        f"95 % interval [{100 * comparison.low:+.2f}, {100 * comparison.high:+.2f}], p = {comparison.bootstrap_p:.3f}, "
        "paired bootstrap over target sentences, one seed"
    )
    reserved = outcome.reservation
    if reserved is not None:
        moved = f"{100 * headline(change.before):.2f} → {100 * headline(change.after):.2f}"
        return f"{reserved.headline} (target {moved})."
    if comparison.bootstrap_p <= SURE < comparison.permutation_p:
        sure += f"; but p = {comparison.permutation_p:.3f} by a permutation test"
    if comparison.larger_p > SURE:
        return f"No clear effect on the target ({sure})."
    return f"The target score {'rose' if comparison.difference > 0 else 'FELL'} ({sure})."
