"""Who decides which places of a puzzle are hidden."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acclimate.methods.masking.puzzle import Puzzle


class Policy(nn.Module):
    """Gives every place a priority; those with the highest are hidden, as many as the puzzle asks for.

    Chance is part of the priority: asked twice about the same row, a policy may answer otherwise (dynamic masking).
    """

    name = "policy"

    def forward(self, puzzle: Puzzle) -> Tensor:
        """Priorities (row, piece). What stands at places that may not be chosen does not matter."""
        raise NotImplementedError

    def before_update(self, update: int) -> None:
        """The number of the update that begins, the same in every process."""

    def reward(self, losses: Tensor) -> None:
        """Hear how hard each row was: the mean loss at its hidden pieces (row), without a gradient."""

    def lesson(self) -> Tensor | None:
        """The policy's own loss after the rewards of this update; None when it has nothing to learn."""
        return None

    def end(self) -> None:
        """A stage is over: what was recorded on a GPU is given back."""

    def chosen_by(self, rows: int) -> list[str]:
        """Which policy decided each row of the last puzzle; they differ in mixtures."""
        return [self.name] * rows


def gumbel_like(values: Tensor) -> Tensor:
    """Noise that makes the top K of log weights a draw without replacement in proportion to the weights."""
    waits = torch.empty_like(values, dtype=torch.float32).exponential_()
    return -waits.clamp(min=torch.finfo(torch.float32).tiny).log()
