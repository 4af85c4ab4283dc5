"""What a masker decides."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Hidden:
    """The places to hide in each row. Every row has as many columns as the fullest one needs: gathering a fixed number
    of places keeps the CPU from waiting for the GPU, as picking by a boolean mask would."""

    places: Tensor  # (row, hidden), positions in the row
    counts: Tensor  # (row, hidden), True where a place is meant, False where it only fills the row up
