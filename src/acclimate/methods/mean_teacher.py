"""Mean Teacher (Tarvainen and Valpola 2017): the learner agrees with the average of its own past."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from acclimate.methods.distillation import TagProbabilities, frozen_copy, log_probabilities
from acclimate.methods.objective import Objective
from acclimate.methods.tagging import Average, count_of
from acclimate.model.learner import Learner, View
from acclimate.model.tagger import Tagger


def rising(update: int, updates: int) -> float:
    """exp(-5 (1 - t)²), t the share of the updates that is done: an untrained teacher is hardly listened to."""
    return math.exp(-5 * (1 - min(1.0, update / max(1, updates))) ** 2)


class MeanTeacher(Objective):
    """How far the probabilities of each tag are from the teacher's at each word of the unlabelled target sentences:
    squared differences, summed over the tags.

    Needs no labels. The teacher's weights follow the learner's after every update, `decay` of them staying what they
    were; after the first `warm_up` updates it is the `later` one. Reaches the learner only.
    """

    def __init__(
        self,
        tagger: Tagger,
        decay: float = 0.99,
        later: float = 0.995,
        warm_up: int = 300,
        probabilities: TagProbabilities = "marginals",
        average: Average = "word",
    ) -> None:
        super().__init__()
        self.teacher = frozen_copy(tagger)  # a part of this module: a checkpoint must hold what nobody else knows
        self.decay, self.later, self.warm_up = decay, later, warm_up
        self.probabilities: TagProbabilities = probabilities
        self.average = average
        self.update = 0

    def train(self, mode: bool = True) -> MeanTeacher:
        super().train(mode)
        self.teacher.eval()  # it never drops anything
        return self

    def forward(self, source: View, target: View) -> Tensor:
        sentences = target.sentences
        with torch.no_grad():
            taught = log_probabilities(View(self.teacher, sentences), self.probabilities).exp()
        differences = (
            (log_probabilities(target, self.probabilities).exp() - taught).square().sum(-1)
        )  # (sentence, word)
        counted = sentences.mask & ~sentences.labelled.unsqueeze(1)
        return differences.masked_fill(~counted, 0).sum() / count_of(counted, self.average)

    def before_update(self, update: int) -> None:
        self.update = update

    @torch.no_grad()
    def after_update(self, learner: Learner) -> None:
        decay = self.decay if self.update < self.warm_up else self.later
        weights: dict[str, Any] = learner.state_dict()
        pairs = [(value, weights[name].to(value.dtype)) for name, value in self.teacher.state_dict().items()]
        moving = [pair for pair in pairs if pair[0].is_floating_point()]
        # all at once: one by one, a GPU would wait for a hundred small orders
        torch._foreach_lerp_([mine for mine, _ in moving], [theirs for _, theirs in moving], 1 - decay)
        for mine, theirs in pairs:
            if not mine.is_floating_point():
                mine.copy_(theirs)
