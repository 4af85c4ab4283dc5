"""One training of a table: a run that is compared with nothing, and what is measured on its trained taggers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from acclimate.analysis.features import FeaturePoints, Unit, domain_separability, feature_points, project
from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.methods.entities.masked_tagger import MaskedTagger
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import mlm_head_for
from acclimate.model.learner import Learner
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger
from acclimate.recipes.domain_tuning import perplexity
from acclimate.reproduction.finished import FACTS, TAGGER
from acclimate.runs.result import Outcome
from acclimate.runs.run import PlannedRun, finish_run, working_alone
from acclimate.runs.task import BlindTask

_POINTS = 1000  # of each domain, that are told apart and put on a map


def run_training(run: PlannedRun, task: BlindTask, facts: Sequence[str] = (), watch: Corpus | None = None) -> float:
    """Finish this run from where it stands, and say how many seconds that took. The work of an executor. Nothing is
    trained beside it: what it is compared with has a cell of its own."""

    def measured(outcome: Outcome) -> Mapping[str, str]:
        assert outcome.tagger is not None
        assert outcome.learner is not None
        found = {name: _FACTS[name](outcome.learner, outcome.tagger, task) for name in facts if name != TAGGER}
        return {FACTS: json.dumps(found, ensure_ascii=False)}

    started = time.monotonic()
    with working_alone(run.folder):
        watched = replace(task, watch=watch)
        finish_run(run, watched, has_baseline=False, keeps_tagger=TAGGER in facts, more=measured)
    return time.monotonic() - started


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
