"""What `adapt` leaves in its folder for `acclimate report`."""

from __future__ import annotations

import json

from acclimate.analysis.run_evidence import SOURCE, TARGET, Answers, FeatureKeeper, text_figures
from acclimate.recipes.outcome import Outcome
from acclimate.recipes.task import Task


def predictions_json(outcome: Outcome) -> str:
    """The test sentences with their gold tags, and what was predicted before and after."""
    changes = {SOURCE: outcome.source, TARGET: outcome.target}
    kept = {
        name: None if change is None or change.texts is None else Answers(*change.texts).as_dict()
        for name, change in changes.items()
    }
    return json.dumps(kept)  # pure ASCII: a word may hold half a surrogate pair


def feature_keeper(task: Task) -> FeatureKeeper:
    """Of sentences that were not learnt from, where there are some."""
    source = task.source_test or task.source_dev or task.source
    target = task.target_test or task.target or task.target_labelled
    return FeatureKeeper({SOURCE: source} if target is None else {SOURCE: source, TARGET: target})


def domains_json(task: Task, keeper: FeatureKeeper) -> str:
    target = task.target or task.target_labelled
    return json.dumps({"text": text_figures(task.source, target), "points": keeper.as_dict()})
