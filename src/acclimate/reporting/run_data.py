"""All that a report says of one run, read from its folder. What is not there is None or empty, and the page says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from acclimate.analysis.curves import StageCurves, read_curves
from acclimate.analysis.features import FeaturePoints, UnknownWords, feature_points, readers_of
from acclimate.analysis.run_records import record_files
from acclimate.comparison.tables import MATERIAL
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.evaluation.counts import stored_f1
from acclimate.evaluation.scores import score
from acclimate.evaluation.seen import Reservation, Shared, reservation
from acclimate.evaluation.significance import Metric, compare_seeds
from acclimate.layout import BEFORE, COMPARISON, PREDICTIONS, REPORT, RUN
from acclimate.model.siblings import load_sibling
from acclimate.model.storage import StorageError, read_json, require_unchanged
from acclimate.model.tagger import Tagger, read_seen
from acclimate.recipes.catalogue import BASELINE, START, TARGET_ONLY
from acclimate.runs.run import (
    AFTER,
    DOMAINS,
    MOST_WORDS,
    SOURCE,
    TARGET,
    Answers,
    read_features,
    tagged,
)

Points = Mapping[str, FeaturePoints]  # by `before` and `after`
LEARNT = "target_test_learnt"
DOMAIN_NAMES = (TARGET, SOURCE)  # in the order of the page
NO_MATERIAL = "This comparison has kept no text (material.json): give its `acclimate compare` command again to have it."
_BEFORE = {
    TARGET_ONLY.name: "the same tagger trained on the labelled target sentences alone",
    START.name: "the tagger that it started from, as it was",
}
OLD_RUN = "This run has not kept what this part needs: make it again to have it."


@dataclass(frozen=True)
class RunData:
    """`changes` holds for each domain with a test its scores before and after, as `Change.as_dict` has them."""

    folder: Path
    recipe: str
    seed: int
    source: str
    target: str
    before: str  # what "before" is, in words
    changes: Mapping[str, Mapping[str, Any]]
    report: Mapping[str, Any]
    settings: Mapping[str, Any] | None = None
    answers: Mapping[str, Answers] = field(default_factory=dict)
    curves: tuple[StageCurves, ...] = ()
    text: Mapping[str, Any] | None = None
    text_missing: str = OLD_RUN
    points: Callable[[], Points] = lambda: {}
    points_missing: str = OLD_RUN
    points_problem: str | None = None  # why those of "before" or "after" are missing
    source_before: float | None = None  # of what "before" is, on the source; None where it has no such score
    learnt: Shared | None = None  # how much of the target's test was learnt with labels; None of older runs

    @property
    def has_source(self) -> bool:
        """Whether the tagger learnt from a source in this run."""
        return self.report.get("before") != START.name

    @property
    def reservation(self) -> Reservation | None:
        """Why nothing may be claimed of what changed; None as well where nothing was adapted."""
        if not self.is_adapted:
            return None
        return reservation(self.source_before, stored_f1(self.changes.get(TARGET), "before"), self.learnt)

    @property
    def is_adapted(self) -> bool:
        """Whether there is anything between before and after."""
        return any(change["change"] is not None for change in self.changes.values())

    @property
    def title(self) -> str:
        return f"{self.source} → {self.target}"


def collect_run(folder: Path) -> RunData:
    """A finished run: of `acclimate adapt`, or below `DIR/runs/RECIPE/seed-N` of a comparison."""
    is_in_comparison = folder.absolute().parents[1].name == "runs" and not (folder / "settings.yaml").is_file()
    return _ComparedRun(folder).data() if is_in_comparison else _run_alone(folder)


def _run_alone(folder: Path) -> RunData:
    report = read_object(folder / REPORT)
    settings = read_settings(folder / "settings.yaml")
    domains = read_if_there(folder / DOMAINS)
    answers = read_if_there(folder / PREDICTIONS)
    points = domains.get("points") or {}
    given = settings or {}
    source = given.get("source") or (given.get("tagger") or {}).get("start")
    return RunData(
        folder=folder,
        recipe=str(report["recipe"]),
        seed=int(report.get("seed", 0)),
        source=" + ".join(map(str, source)) if isinstance(source, list) else str(source or "source"),
        target=str(given.get("target") or given.get("target_labelled") or "(no target)"),
        before=_BEFORE.get(str(report.get("before")), "the same tagger trained on the source alone"),
        changes={name: report[name] for name in DOMAIN_NAMES if report.get(name) is not None},
        report=report,
        settings=settings,
        answers={name: Answers.from_dict(answers[name]) for name in DOMAIN_NAMES if answers.get(name) is not None},
        curves=_curves(folder),
        text=domains.get("text"),
        text_missing="There is no text of both domains to compare." if domains else OLD_RUN,
        points=lambda: _features(folder),
        points_missing=str(points.get("problem") or OLD_RUN),
        points_problem=points.get("problem"),
        source_before=stored_f1(report.get(SOURCE), "before"),
        learnt=Shared.from_dict(report.get(LEARNT)),
    )


@contextmanager
def _damage_as_input_error() -> Iterator[None]:
    """A file that is not what was written when the run was over is an error of the input."""
    try:
        yield
    except StorageError as damage:
        raise InputError(str(damage)) from None


def read_object(file: Path) -> dict[str, Any]:
    """A JSON object; a damaged or changed file is named."""
    with _damage_as_input_error():
        require_unchanged(file)
    try:
        content = read_json(file)
    except (ValueError, RecursionError):
        raise InputError("this file is damaged: it is not JSON. Make the run again.", file=file) from None
    if not isinstance(content, dict):
        raise InputError("this file is damaged: something else was expected in it. Make the run again.", file=file)
    return content


def read_if_there(file: Path) -> dict[str, Any]:
    """A JSON object; an empty one where there is no file."""
    return read_object(file) if file.is_file() else {}


def read_settings(file: Path) -> dict[str, Any] | None:
    if not file.is_file():
        return None
    with _damage_as_input_error():
        require_unchanged(file)
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        raise InputError("this file is damaged: it is not YAML.", file=file) from None
    return content if isinstance(content, dict) else None


def _curves(folder: Path) -> tuple[StageCurves, ...]:
    with _damage_as_input_error():
        return tuple(read_curves(folder)) if record_files(folder) else ()


def _features(folder: Path) -> Points:
    with _damage_as_input_error():
        return read_features(folder)


@dataclass(frozen=True)
class _ComparedRun:
    """A finished run below `DIR/runs/RECIPE/seed-N`. Its "before" is the baseline that it trained itself, or else the
    run of the recipe that all others are compared with."""

    folder: Path

    @cached_property
    def root(self) -> Path:
        return self.folder.absolute().parents[2]

    @cached_property
    def report(self) -> dict[str, Any]:
        return read_object(self.folder / REPORT)

    @cached_property
    def material(self) -> dict[str, Any]:
        return read_if_there(self.root / MATERIAL)

    @cached_property
    def comparison(self) -> dict[str, Any]:
        """What all runs together have shown; nothing yet while they are made."""
        return read_if_there(self.root / COMPARISON)

    @cached_property
    def against(self) -> str:
        return str(self.comparison.get("against") or BASELINE.name)

    @cached_property
    def has_own_baseline(self) -> bool:
        return bool(self.report["make"]) and self.report["before"] == self.against

    def data(self) -> RunData:
        report, settings = self.report, read_object(self.folder / RUN)
        recipe, seed = str(settings["recipe"]), int(settings["seed"])
        other = self.root / "runs" / self.against / f"seed-{seed}"
        there = recipe != self.against and not self.has_own_baseline and (other / PREDICTIONS).is_file()
        baseline = other if there and read_object(other / REPORT)["make"] == report["make"] else None
        answers = self._answers(baseline)
        changes: dict[str, Any] = {} if answers is None else {TARGET: _change(answers, self.folder)}
        source = report.get("source")
        if source is not None and (self.against == BASELINE.name or source["change"] is None):
            changes[SOURCE] = source
        text = self.material.get("text")
        names = (text or {}).get("names") or {}
        is_elsewhere = baseline is not None and not (self.folder / "training" / BASELINE.name).is_dir()
        own, same_seed = f"{self.against} on a tagger of the same make", f"the run of {self.against} with the same seed"
        no_text = "No target text was given, so there is nothing to compare."
        no_words = "There is no text of both domains to draw words from."
        return RunData(
            folder=self.folder,
            recipe=recipe,
            seed=seed,
            source=str(names.get(SOURCE, SOURCE)),
            target=str(names.get(TARGET, TARGET)),
            before=own if self.has_own_baseline else same_seed,
            changes=changes,
            report=report,
            settings=settings,
            answers={} if answers is None else {TARGET: answers},
            curves=(*(_curves(baseline) if baseline is not None and is_elsewhere else ()), *_curves(self.folder)),
            text=text,
            text_missing=no_text if self.material else NO_MATERIAL,
            points=lambda: self._points(baseline),
            points_missing=no_words if self.material else NO_MATERIAL,
            source_before=self._source_before(baseline),
            learnt=Shared.from_dict(self.comparison.get(LEARNT)),
        )

    def _source_before(self, baseline: Path | None) -> float | None:
        if self.has_own_baseline:
            return stored_f1(self.report.get(SOURCE), "before")
        return None if baseline is None else stored_f1(read_object(baseline / REPORT).get(SOURCE), "after")

    def _answers(self, baseline: Path | None) -> Answers | None:
        test = self.material.get("test")
        after = self._predicted(self.folder)
        if test is None or after is None:
            return None
        gold = tagged(test["words"], test["gold"], test["name"], test["kind"])
        if self.has_own_baseline:
            return Answers(gold, self._predicted(self.folder, BEFORE), after)
        return Answers(gold, None if baseline is None else self._predicted(baseline), after)

    def _predicted(self, folder: Path, part: str = AFTER) -> Corpus | None:
        """None where nothing was predicted, or for another test than the one that was kept."""
        test, kept = self.material.get("test"), read_if_there(folder / PREDICTIONS).get(TARGET)
        tags = None if kept is None else kept[part]
        if test is None or tags is None or [len(row) for row in tags] != [len(row) for row in test["words"]]:
            return None
        return tagged(test["words"], tags, test["name"], test["kind"])

    def _points(self, baseline: Path | None) -> Points:
        points = {AFTER: self._points_of(self.folder)}
        if baseline is not None:
            with suppress(UnknownWords):  # target-only, say, has no words of the source
                points = {BEFORE: self._points_of(baseline), **points}
        return {when: found for when, found in points.items() if found is not None}

    def _points_of(self, folder: Path) -> FeaturePoints | None:
        """Features of random words of both domains by the tagger of this folder; None without text of both."""
        sample = self.material.get("sample") or {}
        if not (sample.get(SOURCE) and sample.get(TARGET)):
            return None
        texts = {name: map(Sentence, map(tuple, sample[name])) for name in (SOURCE, TARGET)}
        corpora = {name: Corpus.of(sentences, name) for name, sentences in texts.items()}
        with _damage_as_input_error():
            readers = readers_of(Tagger.load(folder), load_sibling(folder, SOURCE), corpora, SOURCE)
            return feature_points(readers, corpora, most=MOST_WORDS)


def _change(answers: Answers, folder: Path) -> dict[str, Any]:
    """As a run of `adapt` writes it down."""
    gold, before, after = answers.gold, answers.before, answers.after
    seen = read_seen(folder)
    scores = score(gold, after, seen=seen).as_dict()
    if before is None:
        return {"corpus": gold.name, "before": scores, "after": scores, "change": None}
    metric: Metric = "token accuracy" if gold.kind == "plain" else "span f1"
    change = compare_seeds(gold, [before], [after], metric=metric).as_dict()
    return {"corpus": gold.name, "before": score(gold, before, seen=seen).as_dict(), "after": scores, "change": change}
