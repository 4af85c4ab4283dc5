"""Policies decide which places of a batch are hidden: their interface, chance, and mixtures of chance and another."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acclimate.methods.masking.masked_batch import MaskedBatch


class Policy(nn.Module):
    """Gives every place a priority; those with the highest are hidden, as many as the batch asks for.

    Chance is part of the priority: asked twice about the same row, a policy may answer otherwise (dynamic masking).
    """

    name = "policy"

    def forward(self, batch: MaskedBatch) -> Tensor:
        """Priorities (row, piece). What stands at places that may not be chosen does not matter."""
        raise NotImplementedError

    def before_update(self, update: int) -> None:
        """The number of the update that begins, the same in every process."""

    def reward(self, losses: Tensor) -> None:
        """Hear how hard each row was: the mean loss at its hidden pieces (row), without a gradient."""

    def loss(self) -> Tensor | None:
        """The policy's own loss after the rewards of this update; None when it has nothing to learn."""
        return None

    def chosen_by(self, rows: int) -> list[str]:
        """Which policy decided each row of the last batch; they differ in mixtures."""
        return [self.name] * rows


def gumbel_like(values: Tensor) -> Tensor:
    """Noise that makes the top K of log weights a draw without replacement in proportion to the weights."""
    waits = torch.empty_like(values, dtype=torch.float32).exponential_()
    return -waits.clamp(min=torch.finfo(torch.float32).tiny).log()


class Uniform(Policy):
    """Every place alike. With `whole_words` a piece shares the lot of its word; where the budget is counted in pieces
    only the last word drawn may then be hidden in part."""

    def __init__(self, whole_words: bool = False) -> None:
        super().__init__()
        self.whole_words = whole_words
        self.name = "whole-words" if whole_words else "random"

    def forward(self, batch: MaskedBatch) -> Tensor:
        lots = torch.rand(batch.pieces.shape, device=batch.pieces.device)
        if not self.whole_words:
            return lots
        if batch.first is None:
            raise ValueError("Whole words are to be hidden, but where words begin is not known.")
        return lots.gather(1, batch.first)


class Mixture(Policy):
    """Each row tosses a coin. Only the rows of the named policy are shown to it and rewarded: a reward for what chance
    did would teach it nonsense."""

    def __init__(self, policy: Policy, share: float = 0.5) -> None:
        super().__init__()
        if not 0 < share <= 1:
            raise ValueError(f"The share of rows for {policy.name} must lie above 0 and be 1 at most, not {share}.")
        self.policy, self.share, self.rest = policy, share, Uniform()
        self.name = f"mix-{policy.name}"
        self._rows = torch.zeros(0, dtype=torch.long)  # of the last batch, those of the named policy
        self._there = self._rows

    def forward(self, batch: MaskedBatch) -> Tensor:
        # tossed on the CPU: how many rows it will be is then known without waiting for a GPU
        self._rows = torch.nonzero(torch.rand(len(batch.pieces)) < self.share).squeeze(1)
        priorities: Tensor = self.rest(batch)
        if not len(self._rows):
            return priorities
        self._there = self._rows.to(batch.pieces.device, non_blocking=True)
        named: Tensor = self.policy(batch.some(self._there))
        return priorities.index_copy(0, self._there, named.to(priorities.dtype))

    def before_update(self, update: int) -> None:
        self.policy.before_update(update)

    def reward(self, losses: Tensor) -> None:
        if len(self._rows):
            self.policy.reward(losses[self._there])

    def loss(self) -> Tensor | None:
        return self.policy.loss()

    def chosen_by(self, rows: int) -> list[str]:
        named = set(self._rows.tolist())
        return [self.policy.name if row in named else self.rest.name for row in range(rows)]
