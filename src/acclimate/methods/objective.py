"""One term of a training loss, and the plainest one: tagging."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from acclimate.model.learner import Learner, NoView, View


class Objective(nn.Module):
    """One term of the training loss, with its own parameters. It must not have the tagger as an attribute, which would
    double every checkpoint. It may have `notes()`, which the record then holds."""

    def forward(self, source: View, target: View) -> Tensor:
        """A single number to make small."""
        raise NotImplementedError

    def separate_parameters(self) -> list[list[nn.Parameter]]:
        """Parameters with an aim of their own, in groups. The gradient of each group is clipped by itself."""
        return []

    def begin(self, learner: Learner) -> None:
        """Prepare the learner; called before the first update of a stage, and when a stage is resumed."""

    def end(self, learner: Learner) -> None:
        """Undo `begin`; called when the stage is over, also after a failure, even one before `begin`."""

    def before_update(self, update: int) -> None:
        """Called with the number of the update that begins, the same in every process."""

    def after_update(self, learner: Learner) -> None:
        """Called after the optimizer's step."""


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
