"""What a comparison will take: a few updates of every stage are timed, and multiplied by how many there will be."""

from __future__ import annotations

import copy
import time

import torch

from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Recipe
from acclimate.runs.prepare import Preparation, prepare
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import Task, tagger_for
from acclimate.training.engine import build_engine
from acclimate.training.rehearsal import Cost, rehearse


def expected_cost(task: Task, settings: RunSettings, has_baseline: bool = False) -> Cost:
    """Try the run out for a moment; nothing is saved, and nothing of it is used. `has_baseline`: the baseline of this
    run is trained elsewhere, if it can be shared at all."""
    torch.manual_seed(settings.seed)
    ready = prepare(tagger_for(task, settings), task, settings)  # what is refused, is refused before the trial
    tagger = ready.tagger  # which may have grown
    has_make = bool(ready.recipe.remodel(copy.deepcopy(tagger), ready.plan))
    own = _rehearsed(ready.recipe, tagger, ready)
    is_shared = ready.recipe is ready.first or (has_baseline and not (ready.for_target or has_make))
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
