"""What stands in the place of a hidden piece (Devlin et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acclimate.methods.masking.hidden import Hidden


class Corruption(nn.Module):
    """[MASK] mostly; now and then a random piece, or the piece itself, so that no visible piece can be trusted blindly.

    With `swapped` and `kept` 0 every hidden piece becomes [MASK].
    """

    def __init__(self, mask: int, ordinary: Tensor, swapped: float = 0.1, kept: float = 0.1) -> None:
        """`ordinary` holds the numbers that a random piece is drawn from: no special ones."""
        super().__init__()
        if swapped < 0 or kept < 0 or swapped + kept > 1:
            raise ValueError(f"swapped {swapped} and kept {kept} must be shares that add up to 1 at most.")
        self.mask, self.swapped, self.kept = mask, swapped, kept
        self.register_buffer("ordinary", ordinary, persistent=False)
        self.ordinary: Tensor

    def forward(self, pieces: Tensor, hidden: Hidden) -> Tensor:
        """Pieces (row, piece) as they are shown to the encoder."""
        original = pieces.gather(1, hidden.places)
        lot = torch.rand(original.shape, device=pieces.device)
        drawn = self.ordinary[torch.randint(len(self.ordinary), original.shape, device=pieces.device)]
        shown = torch.full_like(original, self.mask)
        shown = torch.where(lot < self.swapped + self.kept, drawn, shown)
        shown = torch.where((lot < self.kept) | ~hidden.counts, original, shown)
        return pieces.scatter(1, hidden.places, shown)
