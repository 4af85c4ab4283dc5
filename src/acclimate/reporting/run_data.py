"""All that a report says of one run, read from its folder. What is not there is None or empty, and the page says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from acclimate.analysis.curves import StageCurves, read_curves
from acclimate.analysis.features import FeaturePoints
from acclimate.analysis.run_records import record_files
from acclimate.comparison.tables import MATERIAL
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.counts import stored_f1
from acclimate.evaluation.scores import score
from acclimate.evaluation.seen import Reservation, Shared, reservation
from acclimate.evaluation.significance import Metric, compare_seeds
from acclimate.layout import BEFORE, COMPARISON, PREDICTIONS, REPORT, RUN
from acclimate.model.storage import StorageError, read_json, require_unchanged
from acclimate.model.tagger import read_seen
from acclimate.recipes.catalogue import BASELINE, START, TARGET_ONLY
from acclimate.runs.run import (
    AFTER,
    DOMAINS,
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
    points_missing: str = OLD_RUN
    points_problem: str | None = None  # why those of "before" or "after" are missing
    source_before: float | None = None  # of what "before" is, on the source; None where it has no such score
    learnt: Shared | None = None  # how much of the target's test was learnt with labels; None without a test

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

    def points(self) -> Points:
        """Features that the run has kept; none where it kept nothing."""
        with _damage_as_input_error():
            return read_features(self.folder)

    @property
    def title(self) -> str:
        return f"{self.source} → {self.target}"


def collect_run(folder: Path) -> RunData:
    """A finished run: of `acclimate adapt`, or below `DIR/runs/RECIPE/seed-N` of a comparison."""
    is_in_comparison = folder.absolute().parents[1].name == "runs" and not (folder / "settings.yaml").is_file()
    return _compared_run(folder) if is_in_comparison else _run_alone(folder)


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
        content = None
    if not isinstance(content, dict):
        raise InputError("this file is damaged: it is no JSON object. Make the run again.", file=file)
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


def _compared_run(folder: Path) -> RunData:
    """A finished run below `DIR/runs/RECIPE/seed-N`. Its "before" is the baseline that it trained itself, or else the
    run of the recipe that all others are compared with."""
    root = folder.absolute().parents[2]
    report, settings = read_object(folder / REPORT), read_object(folder / RUN)
    material, comparison = read_if_there(root / MATERIAL), read_if_there(root / COMPARISON)
    recipe, seed = str(settings["recipe"]), int(settings["seed"])
    against = str(comparison.get("against") or BASELINE.name)
    has_own_baseline = bool(report["make"]) and report["before"] == against
    baseline = None if has_own_baseline or recipe == against else root / "runs" / against / f"seed-{seed}"
    if baseline is not None:
        is_fair = (baseline / PREDICTIONS).is_file() and read_object(baseline / REPORT)["make"] == report["make"]
        baseline = baseline if is_fair else None
    answers = _compared_answers(folder, folder if has_own_baseline else baseline, has_own_baseline, material)
    changes: dict[str, Any] = {} if answers is None else {TARGET: _change(answers, folder)}
    source = report.get(SOURCE)
    if source is not None and (against == BASELINE.name or source["change"] is None):
        changes[SOURCE] = source
    if has_own_baseline:
        source_before = stored_f1(source, BEFORE)
    else:
        source_before = None if baseline is None else stored_f1(read_object(baseline / REPORT).get(SOURCE), AFTER)
    curves = _curves(folder)
    if baseline is not None and not (folder / "training" / BASELINE.name).is_dir():
        curves = (*_curves(baseline), *curves)
    names = (material.get("text") or {}).get("names") or {}
    return RunData(
        folder=folder,
        recipe=recipe,
        seed=seed,
        source=str(names.get(SOURCE, SOURCE)),
        target=str(names.get(TARGET, TARGET)),
        before=f"{against} on a tagger of the same make"
        if has_own_baseline
        else f"the run of {against} with the same seed",
        changes=changes,
        report=report,
        settings=settings,
        answers={} if answers is None else {TARGET: answers},
        curves=curves,
        text=material.get("text"),
        text_missing="No target text was given, so there is nothing to compare." if material else NO_MATERIAL,
        points_missing="Runs of a comparison keep no features. Those of `acclimate adapt` do.",
        source_before=source_before,
        learnt=Shared.from_dict(comparison.get(LEARNT)),
    )


def _compared_answers(folder: Path, before: Path | None, is_own: bool, material: Mapping[str, Any]) -> Answers | None:
    """The test's gold tags stand beside the runs, and the predictions in each. `before` is the folder that has those of
    the baseline."""
    test = material.get("test")
    if test is None:
        return None

    def predicted(folder: Path, part: str) -> Corpus | None:
        """None where nothing was predicted, or for another test than the one that was kept."""
        kept = read_if_there(folder / PREDICTIONS).get(TARGET)
        tags = None if kept is None else kept[part]
        if tags is None or [len(row) for row in tags] != [len(row) for row in test["words"]]:
            return None
        return tagged(test["words"], tags, test["name"], test["kind"])

    after = predicted(folder, AFTER)
    if after is None:
        return None
    gold = tagged(test["words"], test["gold"], test["name"], test["kind"])
    return Answers(gold, None if before is None else predicted(before, BEFORE if is_own else AFTER), after)


def _change(answers: Answers, folder: Path) -> dict[str, Any]:
    """As a run of `adapt` writes it down."""
    gold, seen = answers.gold, read_seen(folder)
    scores = score(gold, answers.after, seen=seen).as_dict()
    if answers.before is None:
        return {"corpus": gold.name, "before": scores, "after": scores, "change": None}
    metric: Metric = "token accuracy" if gold.kind == "plain" else "span f1"
    change = compare_seeds(gold, [answers.before], [answers.after], metric=metric).as_dict()
    before = score(gold, answers.before, seen=seen).as_dict()
    return {"corpus": gold.name, "before": before, "after": scores, "change": change}
