"""One term of a training loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from acclimate.model.learner import Learner, View


class Objective(nn.Module):
    """One term of the training loss, with its own parameters. It must not have the tagger as an attribute, which would
    double every checkpoint."""

    def forward(self, source: View, target: View) -> Tensor:
        """A single number to make small."""
        raise NotImplementedError

    def notes(self) -> Mapping[str, Any] | None:
        """Something of the last updates to write into the record now and then, under its `kind`."""
        return None

    def separate_parameters(self) -> list[list[nn.Parameter]]:
        """Parameters with an aim of their own; the gradient of each group is clipped apart."""
        return []

    loss_scale = 1.0  # for fp16; an objective that takes a gradient of its own multiplies by it, too
    rate = 1.0  # learning rate of the separate parameters, as a factor of the run's

    def begin(self, learner: Learner) -> None:
        """Called before the first update of a stage, and when a stage is resumed."""

    def end(self, learner: Learner) -> None:
        """Called when the stage is over, also one that failed, even before `begin`: undo what that did."""

    def before_update(self, update: int) -> None:
        """Called with the number of the update that begins, the same in every process."""

    def after_update(self, learner: Learner) -> None:
        """Called after the optimizer's step."""
