"""What a comparison will take: a few updates of every stage are timed, and multiplied by how many there will be."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from acclimate.comparison.trial import Ground, Trial, prepared
from acclimate.model.tagger import Tagger
from acclimate.recipes.preparation import Preparation
from acclimate.recipes.recipe import Recipe
from acclimate.recipes.task import tagger_for
from acclimate.training.engine import build_engine
from acclimate.training.loop import Training, under_way
from acclimate.training.selectors import DevelopmentScore, Selector

RULE = "from a few timed updates of every stage, with looks at the selector, without judging; stopping early saves some"
_UPDATES = 3  # the first one is not counted: it also warms up
_LOOK = 50  # sentences of a look at the selector that is timed


@dataclass(frozen=True)
class Cost:
    """What a run will take."""

    seconds: float = 0.0
    updates: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.updates + other.updates)


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
    return own if is_shared else own + _rehearsed(ready.first, tagger, ready)


def _rehearsed(recipe: Recipe, tagger: Tagger, ready: Preparation) -> Cost:
    """What all stages of a recipe will take, and what lies between them."""
    engine = build_engine(ready.plan.training, tagger)
    tagger.to(engine.device)
    total, updates, since = 0.0, 0, time.monotonic()
    for stage in recipe.stages(tagger, ready.plan):
        total += time.monotonic() - since
        pupil = stage.learner or tagger
        with under_way(pupil, stage, engine) as training:
            total += _per_update(training) * stage.updates
        updates += stage.updates
        looks = -(-stage.updates // stage.evaluate_every)
        total += looks * _per_look(stage.selector or ready.selector, tagger)
        engine.free_memory()
        since = time.monotonic()
    return Cost(total + time.monotonic() - since, updates)


def _per_look(selector: Selector, tagger: Tagger) -> float:
    if selector.is_blind:
        return 0.0
    share = 1.0
    if isinstance(selector, DevelopmentScore) and len(selector.corpus) > _LOOK:
        share = len(selector.corpus) / _LOOK
        selector = replace(selector, corpus=selector.corpus[:_LOOK])
    begun = time.monotonic()
    selector(tagger)
    return share * (time.monotonic() - begun)


def _per_update(training: Training) -> float:
    times = list(_times(training))
    counted = times[1:] or times
    return sum(counted) / max(1, len(counted))


def _times(training: Training) -> Iterator[float]:
    begun = time.monotonic()
    for progress in training:
        for loss in progress.losses.values():
            float(loss)  # waits for the GPU
        now = time.monotonic()
        yield now - begun
        begun = now
        if progress.update >= _UPDATES:
            return
