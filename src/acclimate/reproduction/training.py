"""One training of a table: like a run of `compare`, in a folder that holds all it found out; but nothing is trained
beside it, for what it is compared with has a cell of its own."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from acclimate.analysis.features import FeaturePoints, Unit, domain_separability, feature_points, project
from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.inference.predict import predict
from acclimate.methods.entities.masked_tagger import MaskedTagger
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import mlm_head_for
from acclimate.model.learner import Learner
from acclimate.model.siblings import Siblings
from acclimate.model.storage import written_aside
from acclimate.model.tagger import Tagger
from acclimate.recipes.domain_tuning import perplexity
from acclimate.reproduction.finished import FACTS, TAGGER
from acclimate.runs.fingerprint import clear_stages
from acclimate.runs.folder import sealed_claim, state_of, take
from acclimate.runs.lock import locked
from acclimate.runs.memory import forget_peak, peak_megabytes
from acclimate.runs.prepare import Preparation, prepare
from acclimate.runs.run import CLAIM, PREDICTIONS, REPORT, PlannedRun
from acclimate.runs.task import BlindTask, tagger_for
from acclimate.training.engine import build_engine
from acclimate.training.record import Record
from acclimate.training.run import run_stages
from acclimate.training.selectors import Confidence
from acclimate.training.stage import Stage

_POINTS = 1000  # of each domain, that are told apart and put on a map
_ALONE = threading.Lock()  # seeds and the engine's state belong to a process


def run_training(trial: PlannedRun, task: BlindTask, facts: Sequence[str] = (), watch: Corpus | None = None) -> float:
    """Finish this run from where it stands, and say how many seconds that took. The work of an executor."""
    started = time.monotonic()
    with _ALONE, locked(trial.folder):
        if state_of(trial, task) != "finished":
            _train(trial, task, facts, watch)
    return time.monotonic() - started


def _train(trial: PlannedRun, task: BlindTask, facts: Sequence[str], watch: Corpus | None) -> None:
    forget_peak()
    torch.manual_seed(trial.seed)
    tagger = tagger_for(task, trial.settings)
    ready = prepare(tagger, replace(task, watch=watch), trial.settings)
    take(trial, task)
    learner, summaries = _through_stages(tagger, ready, trial, watch)
    memory = peak_megabytes()
    test = task.target_test
    assert test is not None
    report = {
        "recipe": trial.recipe,
        "seed": trial.seed,
        "selector": ready.selector.name,
        "stages": summaries,
        "remarks": list(ready.remarks),
        "seconds": round(sum(stage["seconds"] for stage in summaries), 3),
        "peak_megabytes": memory,
    }
    tagger.seen = ready.seen
    written = {
        CLAIM: sealed_claim(trial, task),
        REPORT: report,
        PREDICTIONS: {"target_test": [sentence.tags for sentence in predict(tagger, test)]},
        FACTS: {name: _FACTS[name](learner, tagger, task) for name in facts if name != TAGGER},
    }
    told = {name: json.dumps(found, ensure_ascii=False) for name, found in written.items()}
    if TAGGER in facts:
        tagger.save(trial.folder, **told)
    else:  # weights that nobody will ask for would fill the disk
        with written_aside(trial.folder) as aside:
            for name, text in told.items():
                (aside / name).write_text(text, encoding="utf-8")
    clear_stages(trial.folder / "training")
    (trial.folder / "training" / CLAIM).unlink(missing_ok=True)


def _through_stages(
    tagger: Tagger, ready: Preparation, trial: PlannedRun, watch: Corpus | None
) -> tuple[Learner, list[dict[str, Any]]]:
    """Train in place. The learner is the tagger, or what it is a part of."""
    last: list[Learner] = [tagger]
    recipes = [ready.first, ready.recipe] if ready.recipe.starts_from_baseline else [ready.recipe]

    def stages() -> Iterator[Stage]:
        for recipe in recipes:
            for stage in recipe.stages(tagger, ready.plan):
                last[:] = [stage.learner or tagger]
                sure = () if watch is None else (Confidence(watch.labelled(), tagger),)
                yield replace(stage, watches=(*stage.watches, *sure))

    place = trial.folder / "training" / trial.recipe
    record = Record(place)
    engine = build_engine(ready.plan.training, tagger)
    summaries = run_stages(tagger, stages(), engine, ready.selector, trial.seed, place, record=record)
    record.close()
    tagger.eval()
    return last[0], summaries


def _perplexity(learner: Learner, tagger: Tagger, task: BlindTask) -> dict[str, float]:
    """Of dev text. Without a head of its own, under the one that the encoder began with."""
    text = task.source_dev
    if text is None or not isinstance(tagger.encoder, Transformer):
        raise InputError("perplexity is of a masked language model, and of dev text.")
    own = learner.mlm_head if isinstance(learner, MaskedTagger) else None
    mlm_head = mlm_head_for(tagger.encoder) if own is None else own
    device = next(tagger.parameters()).device
    return {"perplexity": perplexity(tagger.encoder, mlm_head.to(device), text).perplexity}


def _separability(learner: Learner, tagger: Tagger, task: BlindTask) -> dict[str, float]:
    """How far source and target can be told apart: in percent, 50 where they cannot."""
    units: tuple[Unit, ...] = ("word", "sentence")
    points = {unit: _points(learner, tagger, task, unit) for unit in units}
    return {f"{unit}s told apart, %": 100 * domain_separability(found).accuracy for unit, found in points.items()}


def _points(learner: Learner, tagger: Tagger, task: BlindTask, unit: Unit) -> FeaturePoints:
    assert task.target_test is not None
    text = task.source if task.source_dev is None else task.source_dev
    readers = {name: learner[name] if isinstance(learner, Siblings) else tagger for name in (SOURCE, TARGET)}
    return feature_points(readers, {SOURCE: text.unlabelled(), TARGET: task.target_test}, unit, _POINTS)


def _map(learner: Learner, tagger: Tagger, task: BlindTask) -> dict[str, Any]:
    """Words on a flat map; empty where it cannot be made (no scikit-learn)."""
    found = _points(learner, tagger, task, "word")
    try:
        return {"places": project(found.points).round(3).tolist(), "domains": list(found.domains)}
    except InputError:
        return {}


_FACTS: dict[str, Callable[[Learner, Tagger, BlindTask], dict[str, Any]]] = {
    "perplexity": _perplexity,
    "separability": _separability,
    "map": _map,
}
