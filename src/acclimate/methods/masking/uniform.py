"""Hide pieces at random, all with the same chance (Devlin et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acclimate.methods.masking.hidden import Hidden


class Uniform(nn.Module):
    """A fixed share of every row's pieces, at least one."""

    def __init__(self, share: float = 0.15) -> None:
        super().__init__()
        if not 0 < share <= 1:
            raise ValueError(f"The share of hidden pieces must lie between 0 and 1, not {share}.")
        self.share = share

    def forward(self, allowed: Tensor) -> Hidden:
        """`allowed` (row, piece) is True where a piece may be hidden."""
        most = max(1, round(self.share * allowed.shape[1]))
        chances = torch.rand(allowed.shape, device=allowed.device).masked_fill(~allowed, -1.0)
        places = chances.topk(most, dim=1).indices
        wanted = (self.share * allowed.sum(1)).round().clamp(min=1)  # (row)
        counts = torch.arange(most, device=allowed.device) < wanted.unsqueeze(1)
        return Hidden(places, counts & allowed.gather(1, places))
