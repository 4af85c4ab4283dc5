"""What a comparison will take: a few updates of every stage are timed, and multiplied by how many there will be."""

from __future__ import annotations

import copy
import time

import torch

from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Recipe
from acclimate.runs.prepare import Preparation
from acclimate.runs.task import tagger_for
from acclimate.runs.trial import Ground, Trial, prepared
from acclimate.training.engine import build_engine
from acclimate.training.rehearsal import Cost, rehearse


def expected_cost(trial: Trial, ground: Ground) -> Cost:
    """Try the run out for a moment; nothing is saved, and nothing of it is used."""
    task, settings = ground.task, trial.settings
    torch.manual_seed(trial.seed)
    labels = ground.labels_for(trial.recipe)
    tagger = tagger_for(task, trial.recipe, settings.tagger, settings.options, settings.train_on_dev, labels)
    ready = prepared(trial, tagger, task)
    has_make = bool(ready.recipe.remodel(copy.deepcopy(tagger), ready.plan))
    own = _rehearsed(ready.recipe, tagger, ready)
    can_share = trial.baseline is not None and not (ready.for_target or has_make)
    is_shared = ready.recipe is ready.first or can_share
    return own if is_shared else _rehearsed(ready.first, tagger, ready) + own


def _rehearsed(recipe: Recipe, tagger: Tagger, ready: Preparation) -> Cost:
    """What all stages of a recipe will take, and what lies between them."""
    engine = build_engine(ready.plan.training, tagger)
    tagger.to(engine.device)
    total, since = Cost(), time.monotonic()
    for stage in recipe.stages(tagger, ready.plan):
        total += Cost(time.monotonic() - since)
        total += rehearse(stage.learner or tagger, tagger, stage, engine, stage.selector or ready.selector)
        since = time.monotonic()
    return total + Cost(time.monotonic() - since)
