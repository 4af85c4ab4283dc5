"""What a comparison will take: a few updates of every stage are timed, and multiplied by how many there will be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from acclimate.comparison.trial import Ground, Trial
from acclimate.model.tagger import Tagger
from acclimate.recipes.preparation import Preparation, prepare
from acclimate.recipes.recipe import Recipe
from acclimate.recipes.task import tagger_for
from acclimate.training.engine import build_engine
from acclimate.training.loop import Training

RULE = "from a few timed updates of every stage, looks at the selector counted in; stopping early makes it less"
_UPDATES = 3  # the first one is not counted: it also warms up


@dataclass(frozen=True)
class Cost:
    """Seconds of one run: `baseline` for what is trained on the source alone, `own` for the recipe."""

    baseline: float
    own: float


def expected_cost(trial: Trial, ground: Ground) -> Cost:
    """Try the run out for a moment; nothing is saved, and nothing of it is used."""
    task, settings = ground.task, trial.settings
    torch.manual_seed(trial.seed)
    labels = ground.labels_for(trial.recipe)
    tagger = tagger_for(task, trial.recipe, settings.tagger, settings.options, settings.train_on_dev, labels)
    ready = prepare(
        tagger,
        task.source,
        task.target,
        trial.recipe,
        target_labelled=task.target_labelled,
        source_dev=task.source_dev,
        source_test=task.source_test,
        target_dev=task.target_dev,
        target_test=None,
        select=settings.select,
        train_on_dev=settings.train_on_dev,
        watch=None,
        training=settings.training,
        seed=trial.seed,
        options=settings.options,
    )
    baseline = _rehearsed(ready.first, tagger, ready)
    own = baseline if ready.recipe is ready.first else _rehearsed(ready.recipe, tagger, ready)
    return Cost(baseline, own)


def _rehearsed(recipe: Recipe, tagger: Tagger, ready: Preparation) -> float:
    """Seconds that all stages of a recipe will take, and what lies between them."""
    engine = build_engine(ready.plan.training, tagger)
    tagger.to(engine.device)
    total, since = 0.0, time.monotonic()
    for stage in recipe.stages(tagger, ready.plan):
        total += time.monotonic() - since
        pupil = stage.learner or tagger
        training = Training(pupil, stage, engine)
        total += _per_update(training) * stage.updates
        selector = stage.selector or ready.selector
        if not selector.is_blind:
            begun = time.monotonic()
            selector(tagger)
            total += (time.monotonic() - begun) * -(-stage.updates // stage.evaluate_every)
        for objective in stage.objectives.values():
            objective.end(pupil)
        engine.free_memory()
        since = time.monotonic()
    return total + time.monotonic() - since


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
