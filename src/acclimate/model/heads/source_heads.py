"""A layer of scores for each source, beside the one that all share (after Daumé 2007, "frustratingly easy").

Two corpora may annotate the same words in different ways. What only one of them does is then learnt by its own layer.
The tagger predicts with the shared one alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from acclimate.data.corpus import Sentence


class SourceHeads(nn.Module):
    """What is added to the scores of each source's sentences in training. All zero at first."""

    def __init__(self, sources: Sequence[str], width: int, tag_count: int) -> None:
        super().__init__()
        self.rows = {name: row for row, name in enumerate(sources, start=1)}  # row 0: sentences of no source
        self.weights = nn.Parameter(torch.zeros(len(sources), tag_count, width))  # (source, tag, feature)
        self.biases = nn.Parameter(torch.zeros(len(sources), tag_count))  # (source, tag)

    def forward(self, features: Tensor, sentences: Sequence[Sentence]) -> Tensor:
        """(sentence, word, feature) → (sentence, word, tag), zero for a sentence of no source."""
        rows = torch.tensor([self.rows.get(sentence.source or "", 0) for sentence in sentences])
        rows = rows.to(features.device, non_blocking=True)
        weights = torch.cat([torch.zeros_like(self.weights[:1]), self.weights]).index_select(0, rows)
        biases = torch.cat([torch.zeros_like(self.biases[:1]), self.biases]).index_select(0, rows)
        return torch.baddbmm(biases.unsqueeze(1), features.to(weights.dtype), weights.transpose(1, 2))
