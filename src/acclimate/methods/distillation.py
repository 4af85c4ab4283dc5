"""Distillation: the student gives each word's tags the probabilities that a teacher gives them (PDALN, equation 11)."""

from __future__ import annotations

import copy
from typing import Literal

import torch
from torch import Tensor

from acclimate.methods.objective import Objective
from acclimate.methods.tagging import Average, count_of
from acclimate.model.learner import Learner, View
from acclimate.model.tagger import Tagger

TagProbabilities = Literal["marginals", "softmax"]
"""What the probability of a tag is: that of the head, counting every path (marginals of a CRF), or a softmax of the
word's own scores, which does not know the neighbours."""


def frozen_copy(tagger: Tagger) -> Tagger:
    """The same weights, which nothing will move any more, and without dropout."""
    return copy.deepcopy(tagger).eval().requires_grad_(False)


def log_probabilities(view: View, probabilities: TagProbabilities) -> Tensor:
    """Log probability of each tag at each word, (sentence, word, tag)."""
    with torch.autocast(view.scores.device.type, enabled=False):
        exact = torch.promote_types(view.scores.dtype, torch.float32)
        if probabilities == "softmax":
            return view.scores.to(exact).log_softmax(-1)
        return view.marginals.to(exact).clamp_min(torch.finfo(exact).tiny).log()


def cross_entropy(teacher: Tensor, student: Tensor, mask: Tensor, average: Average = "word") -> Tensor:
    """Of two distributions given by their logarithms (sentence, word, tag): the mean over all words (PDALN, equation
    11), or their sum in each sentence, and the mean of that.

    Where both are the same it is the teacher's entropy, and has no gradient.
    """
    each = -(teacher.exp() * student).sum(-1)  # (sentence, word)
    return each.masked_fill(~mask, 0).sum() / count_of(mask, average)


class Distillation(Objective):
    """Cross-entropy of a frozen teacher and the learner on the source sentences (PDALN's augmented ones), or on the
    target's.

    Needs no labels. Reaches the learner only. The teacher reads the words that the learner reads.
    """

    def __init__(
        self,
        teacher: Tagger,
        probabilities: TagProbabilities = "marginals",
        domain: Literal["source", "target"] = "source",
        average: Average = "word",
    ) -> None:
        super().__init__()
        if any(weight.requires_grad for weight in teacher.parameters()) or teacher.training:
            raise ValueError("A teacher does not learn: hand in frozen_copy(tagger).")
        self._teacher = (teacher,)  # no part of this module: a checkpoint need not hold it, and `train` would wake it
        self.probabilities: TagProbabilities = probabilities
        self.domain, self.average = domain, average

    @property
    def teacher(self) -> Tagger:
        return self._teacher[0]

    def begin(self, learner: Learner) -> None:
        self.teacher.to(learner.device)

    def forward(self, source: View, target: View) -> Tensor:
        view = source if self.domain == "source" else target
        with torch.no_grad():
            taught = log_probabilities(View(self.teacher, view.sentences), self.probabilities)
        return cross_entropy(taught, log_probabilities(view, self.probabilities), view.sentences.mask, self.average)
