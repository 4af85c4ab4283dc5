"""One term of a training loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from acclimate.model.learner import Learner, View


class Objective(nn.Module):
    """One term of the training loss, with whatever extra parameters it needs.

    An objective must not keep the tagger as an attribute: it would stand twice in every checkpoint.
    """

    def forward(self, source: View, target: View) -> Tensor:
        """A single number to make small."""
        raise NotImplementedError

    def notes(self) -> Mapping[str, Any] | None:
        """Something of the last updates to write into the record now and then, under its `kind`; most have nothing."""
        return None

    def separate_parameters(self) -> list[list[nn.Parameter]]:
        """Parameters of players with an aim of their own. Each group is clipped by itself: a large gradient of one must
        not shorten the step of another."""
        return []

    # by what the loss is multiplied before its gradient is taken, where numbers are so narrow (fp16) that a small one
    # would vanish; an objective that takes a gradient of its own multiplies by it, too
    loss_scale = 1.0

    rate = 1.0  # how fast the players that stand apart learn, in learning rates of the rest

    def begin(self, learner: Learner) -> None:
        """Called before the first update of a stage, and when a stage is resumed: set the learner as it is needed."""

    def end(self, learner: Learner) -> None:
        """Called when the stage is over, also one that failed or was interrupted, even before `begin`: undo what that
        did."""

    def before_update(self, update: int) -> None:
        """Called with the number of the update that begins, the same in every process."""

    def after_update(self, learner: Learner) -> None:
        """Called once the optimizer has moved; a moving-average teacher follows the learner here."""
