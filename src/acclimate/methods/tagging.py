"""Plain supervised tagging."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from acclimate.methods.objective import Objective
from acclimate.model.learner import NoView, View

Average = Literal["word", "sentence"]
"""What a loss is averaged over. Terms of one loss must share it: a sentence has some twenty words."""


def count_of(mask: Tensor, average: Average) -> Tensor:
    """How many words `mask` (sentence, word) holds, or how many sentences with a word; at least 1."""
    return (mask.sum() if average == "word" else mask.any(1).sum()).clamp_min(1)


class TaggingOfAll(Objective):
    """Tagging in every domain that the batch holds, each averaged by itself: DATNet's L_S + L_T, or the two tasks of
    MAT."""

    def __init__(self, average: Average = "word") -> None:
        super().__init__()
        self.each = nn.ModuleList([Tagging("source", average), Tagging("target", average)])

    def forward(self, source: View, target: View) -> Tensor:
        present = [not isinstance(view, NoView) for view in (source, target)]
        losses = [task(source, target) for task, there in zip(self.each, present, strict=True) if there]
        if not losses:
            raise ValueError("There is neither a source nor a target sentence in the batch.")
        return torch.stack(losses).sum()


class Tagging(Objective):
    """Negative log-likelihood of the gold tags in the named domain; sentences without tags count nothing."""

    def __init__(self, domain: Literal["source", "target"] = "source", average: Average = "word") -> None:
        super().__init__()
        self.domain, self.average = domain, average

    def forward(self, source: View, target: View) -> Tensor:
        view = source if self.domain == "source" else target
        labelled = view.sentences.labelled
        losses = view.losses.masked_fill(~labelled, 0)
        return losses.sum() / count_of(view.sentences.mask & labelled.unsqueeze(1), self.average)
