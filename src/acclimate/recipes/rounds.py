"""Rounds of training that the run's selector may undo: how often it looks at one, and how many may fail in a row."""

from __future__ import annotations

import math

import torch

from acclimate.data.batches import Stream
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Plan
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import DevelopmentScore


class Patience:
    """How many rounds in a row may be undone before no other is tried. With 0, the first of them is the last."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.undone = 0  # in a row, by now

    def ends_after(self, undone: bool) -> bool:
        self.undone = self.undone + 1 if undone else 0
        return self.undone > self.rounds


def chooses(plan: Plan) -> bool:
    """Whether somebody looks at the states of a stage and prefers one."""
    return plan.selector is not None and not plan.selector.is_blind


def chooses_for_target(plan: Plan) -> bool:
    """Whether what is preferred is what does well on the target."""
    return isinstance(plan.selector, DevelopmentScore) and plan.selector.of_target


def evaluated_often(training: TrainingSettings, batches: Stream, evaluations: int) -> TrainingSettings:
    """The same with at least so many evaluations. Patience is counted in evaluations, and is made to last as long as
    before."""
    usual = training.evaluate_every or max(1, round(training.updates_per_epoch(batches.epoch_length)))
    every = min(usual, max(1, training.updates_for(batches.epoch_length) // evaluations))
    patience = None if training.patience is None else math.ceil(training.patience * usual / every)
    return training.model_copy(update={"evaluate_every": every, "patience": patience})


def same_weights(one: Tagger, other: Tagger) -> bool:
    """By this a recipe knows that a round was undone."""
    theirs = other.state_dict()
    return all(torch.equal(value, theirs[name]) for name, value in one.state_dict().items())
