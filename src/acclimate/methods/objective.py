"""One term of a training loss."""

from __future__ import annotations

from torch import Tensor, nn

from acclimate.model.learner import Learner
from acclimate.model.view import View


class Objective(nn.Module):
    """One term of the training loss, with whatever extra parameters it needs.

    An objective must not keep the tagger as an attribute: it would stand twice in every checkpoint.
    """

    def forward(self, source: View, target: View) -> Tensor:
        """A single number to make small."""
        raise NotImplementedError

    def after_update(self, learner: Learner) -> None:
        """Called once the optimizer has moved; a moving-average teacher follows the learner here."""
