"""Embedding normalisation (Miyato et al. 2017): a table cannot outgrow a noise of fixed size.

Every dimension of the table is given mean 0 and variance 1 over the running text: each row counts as often as its word
is seen. The gradient goes through mean and variance, so they are taken anew from the current table at every reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from acclimate.data.vocabulary import PADDING, SPECIAL

Normalise = Literal["none", "weighted", "unweighted"]
_TINY = 1e-6  # a dimension that never varies is not blown up


def moments(table: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of each dimension of the table (row, size), rows weighted by their shares, which sum to 1."""
    function: Any = _Moments.apply
    mean, variance = function(table, shares)
    return mean, variance


class _Moments(torch.autograd.Function):
    """With a way back of its own: what autograd would do goes through the whole table eight times, at every update."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        mean = shares @ table
        # not mean of squares minus square of mean: for a table far from zero that loses all digits
        centred = table - mean
        ctx.save_for_backward(centred, shares)
        return mean, shares @ centred.square()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_mean: Tensor, by_variance: Tensor) -> tuple[Tensor, None]:
        centred, shares = ctx.saved_tensors
        # the mean moves the variance by nothing: deviations from it sum to zero
        return torch.addcmul(by_mean, centred, 2 * by_variance).mul_(shares.unsqueeze(1)), None


class Table(nn.Embedding):
    """Vectors by number. With shares, the rows are normalised when they are looked up. A frozen table keeps its rows
    but for the first few, the special ones: what "unknown" and "hidden" mean is always learnt."""

    shares: Tensor | None

    def __init__(self, rows: int, width: int, frozen: bool = False) -> None:
        super().__init__(rows, width, padding_idx=PADDING)
        reach = (3 / max(1, width)) ** 0.5
        nn.init.uniform_(self.weight, -reach, reach)
        self.weight.data[PADDING] = 0
        self.weight.requires_grad_(not frozen)
        self.special = nn.Parameter(self.weight.data[: len(SPECIAL)].clone()) if frozen else None
        self.register_buffer("shares", None)
        self._known: tuple[tuple[int, ...], tuple[Tensor, Tensor, Tensor]] | None = None

    def forward(self, numbers: Tensor) -> Tensor:
        rows = super().forward(numbers)
        if self.special is not None:
            special = nn.functional.embedding(numbers.clamp(max=len(SPECIAL) - 1), self.special, PADDING)
            rows = torch.where((numbers < len(SPECIAL)).unsqueeze(-1), special, rows)
        if self.shares is None:
            return rows
        with torch.autocast(rows.device.type, enabled=False):
            mean, variance = self._moments(self.shares)
            rows = (rows - mean) * (variance + _TINY).rsqrt()
        return rows.masked_fill((numbers == PADDING).unsqueeze(-1), 0)  # padding stays nothing

    def _moments(self, shares: Tensor) -> tuple[Tensor, Tensor]:
        if self.special is None:
            return moments(self.weight, shares)
        count = len(SPECIAL)
        rest, mean_of_rest, spread_of_rest = self._frozen_moments(shares)
        mean = shares[:count] @ self.special + rest * mean_of_rest
        spread = shares[:count] @ (self.special - mean).square() + spread_of_rest
        return mean, spread + rest * (mean_of_rest - mean).square()

    def _frozen_moments(self, shares: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Share, mean and summed squared deviation of the rows that never move; found once."""
        state = (self.weight.data_ptr(), self.weight._version, shares.data_ptr(), shares._version)
        if self._known is None or self._known[0] != state:
            rows, weights = self.weight.detach()[len(SPECIAL) :], shares[len(SPECIAL) :]
            total = weights.sum()
            mean = weights @ rows / total.clamp_min(_TINY)
            self._known = state, (total, mean, weights @ (rows - mean).square())
        return self._known[1]

    def grow(self, rows: int) -> None:
        """More rows at the end, drawn as the first ones were. The table stays the same for all who share it."""
        old = self.weight
        weight = Table(rows, self.embedding_dim).weight.data.to(old)
        weight[: len(old)] = old.data
        self.weight = nn.Parameter(weight, requires_grad=old.requires_grad)
        self.num_embeddings = rows

    def raw(self) -> Tensor:
        """All rows as they stand, before normalisation."""
        return self.weight if self.special is None else torch.cat([self.special, self.weight[len(SPECIAL) :]])


def shares_of(kind: Normalise, counts: Mapping[int, float], rows: int) -> Tensor:
    """How much each row counts: by how often it is seen, or alike for all that are seen at all."""
    shares = torch.zeros(rows)
    for row, count in counts.items():
        shares[row] = count if kind == "weighted" else float(count > 0)
    return shares / shares.sum().clamp_min(_TINY)
