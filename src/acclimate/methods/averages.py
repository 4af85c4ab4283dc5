"""What a sum over words is divided by: one scale for all terms of a loss."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

Average = Literal["word", "sentence"]
"""Per word, batches of long and of short sentences pull alike. Per sentence is the scale of a CRF's likelihood in most
papers. Terms of one loss must share one of them: a sentence has some twenty words, so a term per word beside one per
sentence counts a twentieth of its weight."""


def count_of(mask: Tensor, average: Average) -> Tensor:
    """How many words `mask` (sentence, word) holds, or how many sentences with at least one of them; 1 at least."""
    return (mask.sum() if average == "word" else mask.any(1).sum()).clamp_min(1)
