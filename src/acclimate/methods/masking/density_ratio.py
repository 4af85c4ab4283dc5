"""Hide what the target says and the source does not (the "rw" strategy of the released code of Vu et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from acclimate.data.corpus import Sentence
from acclimate.methods.masking.masked_batch import MaskedBatch
from acclimate.methods.masking.policy import Policy
from acclimate.methods.masking.subset_distribution import SubsetDistribution
from acclimate.model.encoders.transformer import Transformer

_EDGE = 1e-4  # a ratio of 0 or 1 would forbid or force a piece


class DensityRatio(Policy):
    """A piece's chance is r = max(1 - P_source / P_target, 0), handed to the same distribution over subsets that the
    adversary uses. Needs no training and no look at the sentence."""

    name = "density-ratio"

    def __init__(self, source_counts: Tensor, target_counts: Tensor) -> None:
        """How often each piece of the vocabulary occurs in either text (piece)."""
        super().__init__()
        ratios = density_ratios(source_counts, target_counts)
        self.register_buffer("scores", ratios.clamp(_EDGE, 1 - _EDGE).logit(), persistent=False)
        self.scores: Tensor

    def forward(self, batch: MaskedBatch) -> Tensor:
        scores = batch.per_place(self.scores[batch.pieces])
        return SubsetDistribution(scores, batch.allowed, batch.sizes, batch.most).draw().float()


def density_ratios(source_counts: Tensor, target_counts: Tensor) -> Tensor:
    """r of each piece; 0 for one that the target does not have."""
    source, target = (counts.double() / counts.sum().clamp(min=1) for counts in (source_counts, target_counts))
    found = 1 - source / target.where(target > 0, torch.inf)
    return torch.where(target > 0, found, 0.0).clamp(min=0).float()


def piece_counts(encoder: Transformer, sentences: Iterable[Sentence]) -> Tensor:
    """How often each piece of the encoder's vocabulary occurs (piece)."""
    counts = torch.zeros(len(encoder.pieces.tokenizer), dtype=torch.long)
    for sentence in sentences:
        numbers = [number for word in encoder.pieces.of_words(sentence.words) for number in word]
        counts.index_add_(0, torch.tensor(numbers), torch.ones(len(numbers), dtype=torch.long))
    return counts
