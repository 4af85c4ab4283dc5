"""All that a report says of one run, read from its folder. What is not there is None or empty, and the page says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from acclimate.analysis.curves import StageCurves, read_curves
from acclimate.analysis.features import FeaturePoints
from acclimate.analysis.run_records import record_files
from acclimate.data.problems import InputError
from acclimate.evaluation.shared_sentences import Reservation, Shared, reservation
from acclimate.evaluation.tally import stored_f1
from acclimate.model.storage import StorageError
from acclimate.recipes.catalogue import TARGET_ONLY
from acclimate.reporting.folders import REPORT, check, read_object
from acclimate.runs.evidence import DOMAINS, PREDICTIONS, SOURCE, TARGET, Answers, read_features

Points = Mapping[str, FeaturePoints]  # by `before` and `after`
LEARNT = "target_test_learnt"
DOMAIN_NAMES = (TARGET, SOURCE)  # in the order of the page
OLD_RUN = "This run was made before runs kept what this part needs: make it again to have it."


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
    """A run of `acclimate adapt`."""
    report = read_object(folder / REPORT)
    settings = read_settings(folder / "settings.yaml")
    domains = read_object(folder / DOMAINS) if (folder / DOMAINS).is_file() else {}
    points = domains.get("points") or {}
    given = settings or {}
    return RunData(
        folder=folder,
        recipe=str(report["recipe"]),
        seed=int(report.get("seed", 0)),
        source=str(given.get("source") or "source"),
        target=str(given.get("target") or given.get("target_labelled") or "(no target)"),
        before=what_before_is(str(report.get("before"))),
        changes={name: report[name] for name in DOMAIN_NAMES if report.get(name) is not None},
        report=report,
        settings=settings,
        answers=_answers(folder),
        curves=curves_of(folder),
        text=domains.get("text"),
        text_missing="No target text was given, so there is nothing to compare." if domains else OLD_RUN,
        points=lambda: _features(folder),
        points_missing=str(points.get("problem") or OLD_RUN),
        points_problem=points.get("problem"),
        source_before=stored_f1(report.get(SOURCE), "before"),
        learnt=Shared.from_dict(report.get(LEARNT)),
    )


def what_before_is(recipe: str) -> str:
    """By the recipe that trained it."""
    if recipe == TARGET_ONLY.name:
        return "the same tagger trained on the labelled target sentences alone"
    return "the same tagger trained on the source alone"


def read_settings(file: Path) -> dict[str, Any] | None:
    if not file.is_file():
        return None
    check(file)
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        raise InputError("this file is damaged: it is not YAML.", file=file) from None
    return found if isinstance(found, dict) else None


def curves_of(folder: Path) -> tuple[StageCurves, ...]:
    try:
        return tuple(read_curves(folder)) if record_files(folder) else ()
    except StorageError as damage:
        raise InputError(str(damage)) from None


def _answers(folder: Path) -> dict[str, Answers]:
    if not (folder / PREDICTIONS).is_file():
        return {}
    kept = read_object(folder / PREDICTIONS)
    return {name: Answers.from_dict(kept[name]) for name in DOMAIN_NAMES if kept.get(name) is not None}


def _features(folder: Path) -> Points:
    try:
        return read_features(folder)
    except StorageError as problem:
        raise InputError(str(problem)) from None
