"""Estimates how long a stage takes, from a few of its updates and one evaluation."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from accelerate import Accelerator

from acclimate.evaluation.table import duration
from acclimate.model.learner import Learner
from acclimate.spelling import count
from acclimate.training.loop import Training, under_way
from acclimate.training.stage import DevelopmentScore, Selector, Stage

RULE = "timed on a few updates and one evaluation of every stage; stopping early saves some"
_UPDATES = 3  # the first one is a warm-up
_TIMED = 50  # sentences of the evaluation


@dataclass(frozen=True)
class Cost:
    """The expected cost of a training; `stages` are names, updates and seconds."""

    seconds: float = 0.0
    updates: int = 0
    stages: tuple[tuple[str, int, float], ...] = ()

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.updates + other.updates, (*self.stages, *other.stages))

    def describe(self) -> str:
        """The stages, and about how long all of them take."""
        plan = ", ".join(f"{name} {count(updates, 'update')}" for name, updates, _ in self.stages)
        return f"plan: {plan}\nexpected time: about {duration(self.seconds)} ({RULE})"


def rehearse(learner: Learner, tagger: Any, stage: Stage, engine: Accelerator, selector: Selector) -> Cost:
    """Time a stage. The learner must not be used afterwards."""
    with under_way(learner, stage, engine) as training:
        seconds = _per_update(training) * stage.updates
    evaluations = -(-stage.updates // stage.evaluate_every)
    seconds += evaluations * _per_evaluation(selector, tagger)
    engine.free_memory()
    return Cost(seconds, stage.updates, ((stage.name, stage.updates, seconds),))


def _per_evaluation(selector: Selector, tagger: Any) -> float:
    if selector.is_blind:
        return 0.0
    share = 1.0
    if isinstance(selector, DevelopmentScore) and len(selector.corpus) > _TIMED:
        share = len(selector.corpus) / _TIMED
        selector = replace(selector, corpus=selector.corpus[:_TIMED])
    begun = time.monotonic()
    selector(tagger)
    return share * (time.monotonic() - begun)


def _per_update(training: Training) -> float:
    times, begun = [], time.monotonic()
    for progress in training:
        for loss in progress.losses.values():
            float(loss)  # waits for the GPU
        times.append(time.monotonic() - begun)
        begun += times[-1]
        if progress.update >= _UPDATES:
            break
    counted = times[1:] or times
    return sum(counted) / max(1, len(counted))
