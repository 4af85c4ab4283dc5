"""All that a report says of one run, read from its folder. What is not there is None or empty, and the page says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
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
from acclimate.layout import COMPARISON, PREDICTIONS, REPORT, RUN
from acclimate.model.siblings import load_sibling
from acclimate.model.storage import StorageError, read_json, require_unchanged
from acclimate.model.tagger import Tagger, read_seen
from acclimate.recipes.catalogue import BASELINE, START, TARGET_ONLY
from acclimate.runs.evidence import (
    AFTER,
    BEFORE,
    DOMAINS,
    MOST_WORDS,
    SOURCE,
    TARGET,
    Answers,
    read_features,
    tagged,
)

Points = Mapping[str, FeaturePoints]  # by `before` and `after`
Known = dict[Path, FeaturePoints | None]  # features by the folder of the tagger
LEARNT = "target_test_learnt"
DOMAIN_NAMES = (TARGET, SOURCE)  # in the order of the page
NO_MATERIAL = "This comparison has kept no text (material.json): give its `acclimate compare` command again to have it."
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


def collect_run(folder: Path, known: Known | None = None) -> RunData:
    """A finished run: of `acclimate adapt`, or below `DIR/runs/RECIPE/seed-N` of a comparison. Several runs of one
    comparison share what their taggers have read."""
    is_in_comparison = folder.absolute().parents[1].name == "runs" and not (folder / "settings.yaml").is_file()
    return _run_of_comparison(folder, known) if is_in_comparison else _run_alone(folder)


def _run_alone(folder: Path) -> RunData:
    report = read_object(folder / REPORT)
    settings = read_settings(folder / "settings.yaml")
    domains = read_object(folder / DOMAINS) if (folder / DOMAINS).is_file() else {}
    points = domains.get("points") or {}
    given = settings or {}
    return RunData(
        folder=folder,
        recipe=str(report["recipe"]),
        seed=int(report.get("seed", 0)),
        source=_named(given.get("source") or (given.get("tagger") or {}).get("start")),
        target=str(given.get("target") or given.get("target_labelled") or "(no target)"),
        before=what_before_is(str(report.get("before"))),
        changes={name: report[name] for name in DOMAIN_NAMES if report.get(name) is not None},
        report=report,
        settings=settings,
        answers=_answers(folder),
        curves=curves_of(folder),
        text=domains.get("text"),
        text_missing="There is no text of both domains to compare." if domains else OLD_RUN,
        points=lambda: _features(folder),
        points_missing=str(points.get("problem") or OLD_RUN),
        points_problem=points.get("problem"),
        source_before=stored_f1(report.get(SOURCE), "before"),
        learnt=Shared.from_dict(report.get(LEARNT)),
    )


def _named(source: Any) -> str:
    """One source, or several, in a heading."""
    return " + ".join(map(str, source)) if isinstance(source, list) else str(source or "source")


def check(file: Path) -> None:
    """Refuse a file that is not what was written when the run was over."""
    try:
        require_unchanged(file)
    except StorageError as damage:
        raise InputError(str(damage)) from None


def read_object(file: Path) -> dict[str, Any]:
    """A JSON object; a damaged or changed file is named."""
    check(file)
    try:
        found = read_json(file)
    except (ValueError, RecursionError):
        raise InputError("this file is damaged: it is not JSON. Make the run again.", file=file) from None
    if not isinstance(found, dict):
        raise InputError("this file is damaged: something else was expected in it. Make the run again.", file=file)
    return found


def what_before_is(recipe: str) -> str:
    """By the recipe that trained it."""
    if recipe == TARGET_ONLY.name:
        return "the same tagger trained on the labelled target sentences alone"
    if recipe == START.name:
        return "the tagger that it started from, as it was"
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


def _run_of_comparison(folder: Path, known: Known | None) -> RunData:
    """A finished run below `DIR/runs/RECIPE/seed-N`. Several of one comparison share what their taggers have read."""
    readings: Known = {} if known is None else known
    root = folder.absolute().parents[2]
    report, begun = read_object(folder / REPORT), read_object(folder / RUN)
    recipe, seed = str(begun["recipe"]), int(begun["seed"])
    material = read_object(root / MATERIAL) if (root / MATERIAL).is_file() else {}
    against = _against(root)
    other = root / "runs" / against / f"seed-{seed}"
    has_own = bool(report["make"]) and report["before"] == against  # a baseline of the same make
    there = recipe != against and (other / PREDICTIONS).is_file()
    beside = other if there and not has_own and read_object(other / REPORT)["make"] == report["make"] else None
    answers = _answers_beside(folder, beside, has_own, material)
    changes: dict[str, Any] = {} if answers is None else {TARGET: _change(answers, folder)}
    source = report.get("source")
    if source is not None and (against == BASELINE.name or source["change"] is None):
        changes[SOURCE] = source
    text = material.get("text")
    names = (text or {}).get("names") or {}
    return RunData(
        folder=folder,
        recipe=recipe,
        seed=seed,
        source=str(names.get(SOURCE, SOURCE)),
        target=str(names.get(TARGET, TARGET)),
        before=f"{against} on a tagger of the same make" if has_own else f"the run of {against} with the same seed",
        changes=changes,
        report=report,
        settings=begun,
        answers={} if answers is None else {TARGET: answers},
        curves=(*(curves_of(beside) if beside is not None and _is_shared(folder) else ()), *curves_of(folder)),
        text=text,
        text_missing=NO_MATERIAL if not material else "No target text was given, so there is nothing to compare.",
        points=lambda: _points(folder, beside, root, readings),
        points_missing=NO_MATERIAL if not material else "There is no text of both domains to draw words from.",
        source_before=_source_before(report, beside, has_own),
        learnt=Shared.from_dict(_comparison(root).get(LEARNT)),
    )


def _source_before(report: Mapping[str, Any], beside: Path | None, has_own: bool) -> float | None:
    """The source score of what the run is compared with."""
    if has_own:
        return stored_f1(report.get(SOURCE), "before")
    return None if beside is None else stored_f1(read_object(beside / REPORT).get(SOURCE), "after")


def _against(root: Path) -> str:
    return str(_comparison(root).get("against") or BASELINE.name)


def _comparison(root: Path) -> Mapping[str, Any]:
    """What all runs together have shown; nothing yet while they are made."""
    return read_object(root / COMPARISON) if (root / COMPARISON).is_file() else {}


def _is_shared(folder: Path) -> bool:
    """Whether the baseline was trained elsewhere, so that its curves are in its own folder."""
    return not (folder / "training" / BASELINE.name).is_dir()


def _answers_beside(folder: Path, beside: Path | None, has_own: bool, material: Mapping[str, Any]) -> Answers | None:
    test = material.get("test")
    own = _predicted(folder, test)
    if test is None or own is None:
        return None
    gold = tagged(test["words"], test["gold"], test["name"], test["kind"])
    if has_own:
        return Answers(gold, _predicted(folder, test, BEFORE), own)
    return Answers(gold, None if beside is None else _predicted(beside, test), own)


def _predicted(folder: Path, test: Mapping[str, Any] | None, part: str = AFTER) -> Corpus | None:
    """None where nothing was predicted, or for another test than the one that was kept."""
    kept = read_object(folder / PREDICTIONS).get(TARGET) if (folder / PREDICTIONS).is_file() else None
    tags = None if kept is None else kept[part]
    if test is None or tags is None or [len(row) for row in tags] != [len(row) for row in test["words"]]:
        return None
    return tagged(test["words"], tags, test["name"], test["kind"])


def _change(answers: Answers, folder: Path) -> dict[str, Any]:
    """As a run of `adapt` writes it down."""
    gold, before, after = answers.gold, answers.before, answers.after
    seen = read_seen(folder)
    scored = score(gold, after, seen=seen).as_dict()
    if before is None:
        return {"corpus": gold.name, "before": scored, "after": scored, "change": None}
    metric: Metric = "token accuracy" if gold.kind == "plain" else "span f1"
    found = compare_seeds(gold, [before], [after], metric=metric)
    first = score(gold, before, seen=seen).as_dict()
    return {"corpus": gold.name, "before": first, "after": scored, "change": found.as_dict()}


def _points(folder: Path, beside: Path | None, root: Path, known: Known) -> Points:
    found = {AFTER: _points_of(folder, root, known)}
    if beside is not None:
        with suppress(UnknownWords):  # target-only, say, has no words of the source
            found = {BEFORE: _points_of(beside, root, known), **found}
    return {when: points for when, points in found.items() if points is not None}


def _points_of(folder: Path, root: Path, known: Known) -> FeaturePoints | None:
    """What is known, or read now."""
    if folder not in known:
        known[folder] = _read_points(folder, root)
    return known[folder]


def _read_points(folder: Path, root: Path) -> FeaturePoints | None:
    """Features of random words of both domains by the tagger of this folder; None without text of both."""
    material = read_object(root / MATERIAL) if (root / MATERIAL).is_file() else {}
    sample = material.get("sample") or {}
    if not sample.get(SOURCE) or not sample.get(TARGET):
        return None
    corpora = {name: Corpus.of((Sentence(tuple(words)) for words in sample[name]), name) for name in (SOURCE, TARGET)}
    try:
        readers = readers_of(Tagger.load(folder), load_sibling(folder, SOURCE), corpora, SOURCE)
        return feature_points(readers, corpora, most=MOST_WORDS)
    except StorageError as problem:
        raise InputError(str(problem)) from None
