"""One run of a comparison as a report sees it: what it predicted, beside the run of the same seed that all others are
compared with."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from acclimate.analysis.features import FeaturePoints, UnknownWords, feature_points, readers_of
from acclimate.comparison.material_file import MATERIAL
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.evaluation.scores import score
from acclimate.evaluation.shared_sentences import Shared
from acclimate.evaluation.significance import Metric, compare_seeds
from acclimate.evaluation.tally import stored_f1
from acclimate.model.siblings import load_sibling
from acclimate.model.storage import StorageError
from acclimate.model.tagger import Tagger, read_seen
from acclimate.recipes.catalogue import BASELINE
from acclimate.reporting.folders import COMPARISON, REPORT, read_object
from acclimate.reporting.run_data import LEARNT, Points, RunData, curves_of
from acclimate.runs.evidence import (
    AFTER,
    BEFORE,
    MOST_WORDS,
    PREDICTIONS,
    SOURCE,
    TARGET,
    Answers,
    tagged,
)
from acclimate.runs.run import CLAIM

NO_MATERIAL = "This comparison has kept no text (material.json): give its `acclimate compare` command again to have it."


Known = dict[Path, FeaturePoints | None]  # features by the folder of the tagger


def is_trial(folder: Path) -> bool:
    return (folder / CLAIM).is_file()


def collect_trial(folder: Path, known: Known | None = None) -> RunData:
    """A finished run below `DIR/runs/RECIPE/seed-N`. Several of one comparison share what their taggers have read."""
    readings: Known = {} if known is None else known
    root = folder.absolute().parents[2]
    report, claim = read_object(folder / REPORT), read_object(folder / CLAIM)
    recipe, seed = str(claim["recipe"]), int(claim["seed"])
    material = read_object(root / MATERIAL) if (root / MATERIAL).is_file() else {}
    against = _against(root)
    other = root / "runs" / against / f"seed-{seed}"
    has_own = bool(report["make"]) and report["before"] == against  # a baseline of the same make
    there = recipe != against and (other / PREDICTIONS).is_file()
    beside = other if there and not has_own and read_object(other / REPORT)["make"] == report["make"] else None
    answers = _answers(folder, beside, has_own, material)
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
        settings={**claim, "data": None} if claim.get("data") is None else claim,
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


def _answers(folder: Path, beside: Path | None, has_own: bool, material: Mapping[str, Any]) -> Answers | None:
    test = material.get("test")
    own = _predicted(folder, test)
    if test is None or own is None:
        return None
    gold = tagged(test["words"], test["gold"], test["name"], test["kind"])
    if has_own:
        return Answers(gold, _predicted(folder, test, BEFORE), own)
    return Answers(gold, None if beside is None else _predicted(beside, test), own)


def _predicted(folder: Path, test: Mapping[str, Any] | None, part: str = "target_test") -> Corpus | None:
    """None where nothing was predicted, or for another test than the one that was kept."""
    tags = read_object(folder / PREDICTIONS).get(part) if (folder / PREDICTIONS).is_file() else None
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
