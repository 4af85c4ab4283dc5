"""Hide pieces at random, all with the same chance (Devlin et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acclimate.methods.masking.hidden import Hidden


class Uniform(nn.Module):
    """A fixed share of every row's pieces, at least one; whole words, where it is told which pieces form one."""

    def __init__(self, share: float = 0.15) -> None:
        super().__init__()
        if not 0 < share <= 1:
            raise ValueError(f"The share of hidden pieces must lie between 0 and 1, not {share}.")
        self.share = share

    def forward(self, allowed: Tensor, first: Tensor | None = None) -> Hidden:
        """`allowed` (row, piece) is True where a piece may be hidden. `first` (row, piece) says where the word of each
        piece begins: then words are drawn, and only the last one drawn may be hidden in part."""
        most = max(1, round(self.share * allowed.shape[1]))
        chances = torch.rand(allowed.shape, device=allowed.device)
        if first is not None:
            chances = chances.gather(1, first)
        places = chances.masked_fill(~allowed, -1.0).topk(most, dim=1).indices
        wanted = (self.share * allowed.sum(1)).round().clamp(min=1)  # (row)
        counts = torch.arange(most, device=allowed.device) < wanted.unsqueeze(1)
        return Hidden(places, counts & allowed.gather(1, places))
