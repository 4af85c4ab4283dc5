"""Embedding normalisation (Miyato et al. 2017; S1.2, E1.6): a table cannot outgrow a noise of fixed size.

Every dimension of the table is given mean 0 and variance 1 over the running text: each row counts as often as its word
is seen. The gradient goes through mean and variance, so they are taken anew from the current table at every reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from acclimate.data.vocabulary import PADDING, SPECIAL

Normalise = Literal["none", "weighted", "unweighted"]
_TINY = 1e-6  # a dimension that never varies is not blown up


def moments(table: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of each dimension of the table (row, size), rows weighted by their shares."""
    mean = shares @ table
    # not mean of squares minus square of mean: for a table far from zero that loses all digits
    return mean, shares @ (table - mean).square()


class Table(nn.Embedding):
    """Vectors by number. With shares, the rows are normalised when they are looked up. A frozen table keeps its rows
    but for the first few, the special ones: what "unknown" and "hidden" mean is always learnt (E4.16)."""

    shares: Tensor | None

    def __init__(self, rows: int, width: int, frozen: bool = False) -> None:
        super().__init__(rows, width, padding_idx=PADDING)
        reach = (3 / max(1, width)) ** 0.5
        nn.init.uniform_(self.weight, -reach, reach)
        self.weight.data[PADDING] = 0
        self.weight.requires_grad_(not frozen)
        self.special = nn.Parameter(self.weight.data[: len(SPECIAL)].clone()) if frozen else None
        self.register_buffer("shares", None)

    def forward(self, numbers: Tensor) -> Tensor:
        rows = super().forward(numbers)
        if self.special is not None:
            special = nn.functional.embedding(numbers.clamp(max=len(SPECIAL) - 1), self.special, PADDING)
            rows = torch.where((numbers < len(SPECIAL)).unsqueeze(-1), special, rows)
        if self.shares is None:
            return rows
        with torch.autocast(rows.device.type, enabled=False):
            mean, variance = moments(self.raw(), self.shares)
            rows = (rows - mean) * (variance + _TINY).rsqrt()
        return rows.masked_fill((numbers == PADDING).unsqueeze(-1), 0)  # padding stays nothing

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
