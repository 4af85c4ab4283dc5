"""What a hidden piece of a term costs, and what any other (MSLM, Abaho et al. 2024, Eq. 2 to 6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from acclimate.data.corpus import Sentence
from acclimate.methods.masking.joint import BASE, TERM, JointMasking

Normalise = Literal["masked", "weights"]


class MaskWeights(NamedTuple):
    """Two numbers that add up to 1 and do not change in a run."""

    elm: float
    blm: float


# what equal counts give too: without weights the loss keeps its size beside the others
EVEN = MaskWeights(0.5, 0.5)


class MaskCounts(NamedTuple):
    """How many pieces are hidden of either kind."""

    elm: int
    blm: int


def mask_weights(counts: MaskCounts, threshold: float = 0.5) -> MaskWeights:
    """The rarer kind weighs more, but terms never less than the rest: their weights' ratio lies between 1 and e.

    The released code compares the wrong one of the two with the threshold and so favours terms even where they are the
    majority (C2.3).
    """
    total = sum(counts)
    if not total:
        return EVEN
    elm, blm = (1 - count / total for count in counts)
    elm, blm = max(threshold, elm), min(threshold, blm)
    share = 1 / (1 + math.exp(blm - elm))  # the softmax of the two
    return MaskWeights(share, 1 - share)


def count_masks(
    masking: JointMasking,
    sentences: Iterable[Sentence],
    sizes: Callable[[Sequence[str]], Sequence[int]],
    seed: int,
) -> MaskCounts:
    """The pieces that one pass over the training sentences hides; `sizes` says how many pieces each word has."""
    found = {TERM: 0, BASE: 0}
    for sentence in sentences:
        for kind, size in zip(masking.draw_fixed(sentence, seed).tolist(), sizes(sentence.words), strict=True):
            if kind in found:
                found[kind] += size
    return MaskCounts(found[TERM], found[BASE])


def weighted_loss(
    losses: Tensor, is_elm: Tensor, counted: Tensor, weights: MaskWeights, normalise: Normalise = "masked"
) -> Tensor:
    """The cross-entropy of hidden pieces, those of terms at their weight, the others at theirs; all of one shape.

    Where `counted` is False nothing counts. Divided by the number of hidden pieces, or by the sum of their weights, so
    that it keeps one scale beside other losses (E2.5).
    """
    elm, blm = (losses.new_full((), weight) for weight in weights)
    costs = torch.where(is_elm, elm, blm) * counted
    divisor = counted.sum().clamp(min=1) if normalise == "masked" else costs.sum() + (~counted.any())
    total: Tensor = (torch.where(counted, losses, 0) * costs).sum() / divisor
    return total
