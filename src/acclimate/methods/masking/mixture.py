"""Some sentences by one policy, the others at random (Vu, Phung, Haffari 2020, section 6: mixed strategies)."""

from __future__ import annotations

import torch
from torch import Tensor

from acclimate.methods.masking.policy import Policy
from acclimate.methods.masking.puzzle import Puzzle
from acclimate.methods.masking.uniform import Uniform


class Mixture(Policy):
    """Each row tosses a coin. Only the rows of the named policy are shown to it and rewarded: a reward for what chance
    did would teach it nonsense."""

    def __init__(self, policy: Policy, share: float = 0.5) -> None:
        super().__init__()
        if not 0 < share <= 1:
            raise ValueError(f"The share of rows for {policy.name} must lie above 0 and be 1 at most, not {share}.")
        self.policy, self.share, self.rest = policy, share, Uniform()
        self.name = f"mix-{policy.name}"
        self._rows = torch.zeros(0, dtype=torch.long)  # of the last puzzle, those of the named policy
        self._there = self._rows

    def forward(self, puzzle: Puzzle) -> Tensor:
        # tossed on the CPU: how many rows it will be is then known without waiting for a GPU
        self._rows = torch.nonzero(torch.rand(len(puzzle.pieces)) < self.share).squeeze(1)
        priorities: Tensor = self.rest(puzzle)
        if not len(self._rows):
            return priorities
        self._there = self._rows.to(puzzle.pieces.device, non_blocking=True)
        named: Tensor = self.policy(puzzle.some(self._there))
        return priorities.index_copy(0, self._there, named.to(priorities.dtype))

    def before_update(self, update: int) -> None:
        self.policy.before_update(update)

    def reward(self, losses: Tensor) -> None:
        if len(self._rows):
            self.policy.reward(losses[self._there])

    def lesson(self) -> Tensor | None:
        return self.policy.lesson()

    def end(self) -> None:
        self.policy.end()

    def chosen_by(self, rows: int) -> list[str]:
        named = set(self._rows.tolist())
        return [self.policy.name if row in named else self.rest.name for row in range(rows)]
