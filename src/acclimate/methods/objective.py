"""One term of a training loss, and the plainest one: tagging."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from acclimate.model.learner import Learner, NoView, View


class Objective(nn.Module):
    """One term of the training loss, with its own parameters. It must not have the tagger as an attribute, which would
    double every checkpoint."""

    rate = 1.0  # learning rate of its separate parameters, as a factor of the learner's

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

    def notes(self) -> Mapping[str, Any] | None:
        """A row for the record, with its `kind`."""
        return None


def present(*views: View) -> list[View]:
    """The views of the domains that the batch holds; an error where it holds none of them."""
    there = [view for view in views if not isinstance(view, NoView)]
    if not there:
        views[0].sentences  # noqa: B018 - tells what is missing
    return there


Average = Literal["word", "sentence"]
"""What a loss is averaged over. Terms of one loss must share it: a sentence has some twenty words."""


def count_of(mask: Tensor, average: Average) -> Tensor:
    """How many words `mask` (sentence, word) holds, or how many sentences with a word; at least 1."""
    return (mask.sum() if average == "word" else mask.any(1).sum()).clamp_min(1)


class Tagging(Objective):
    """Negative log-likelihood of the gold tags in the named domain; sentences without tags count nothing."""

    def __init__(self, domain: Literal["source", "target"] = "source", average: Average = "word") -> None:
        super().__init__()
        self.domain, self.average = domain, average

    def forward(self, source: View, target: View) -> Tensor:
        return self.loss(source if self.domain == "source" else target)

    def loss(self, view: View) -> Tensor:
        """Of the labelled sentences of a batch."""
        labelled = view.sentences.labelled
        losses = view.losses.masked_fill(~labelled, 0)
        return losses.sum() / count_of(view.sentences.mask & labelled.unsqueeze(1), self.average)


class TaggingOfAll(Tagging):
    """Tagging in every domain that the batch holds, each averaged by itself: DATNet's L_S + L_T, or the two tasks of
    MAT."""

    def __init__(self, average: Average = "word") -> None:
        super().__init__(average=average)

    def forward(self, source: View, target: View) -> Tensor:
        return torch.stack([self.loss(view) for view in present(source, target)]).sum()
