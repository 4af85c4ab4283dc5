"""Plain supervised tagging."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from acclimate.methods.objective import Objective
from acclimate.model.learner import NoView, View

Average = Literal["word", "sentence"]
"""Per word, batches of long and of short sentences pull alike. Per sentence is the scale of a CRF's likelihood in most
papers. Terms of one loss must share one of them: a sentence has some twenty words, so a term per word beside one per
sentence counts a twentieth of its weight."""


def count_of(mask: Tensor, average: Average) -> Tensor:
    """How many words `mask` (sentence, word) holds, or how many sentences with at least one of them; 1 at least."""
    return (mask.sum() if average == "word" else mask.any(1).sum()).clamp_min(1)


class TaggingOfAll(Objective):
    """Plain tagging in every domain that the batch holds, each averaged by itself: DATNet's L_S + L_T, or the two tasks
    of MAT, of which a batch may hold only one."""

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
    """Negative log-likelihood of the gold tags: what a tagger without adaptation is trained on.

    Needs labelled sentences in the named domain; rows without tags count nothing. Averaged per word, so that batches
    of long and of short sentences pull alike (`average="sentence"` is what most CRF papers do).
    """

    def __init__(self, domain: Literal["source", "target"] = "source", average: Average = "word") -> None:
        super().__init__()
        self.domain, self.average = domain, average

    def forward(self, source: View, target: View) -> Tensor:
        view = source if self.domain == "source" else target
        labelled = view.sentences.labelled
        losses = view.losses.masked_fill(~labelled, 0)
        return losses.sum() / count_of(view.sentences.mask & labelled.unsqueeze(1), self.average)
