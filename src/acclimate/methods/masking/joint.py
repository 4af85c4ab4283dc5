"""Hide whole terms and, apart from them, a few other words, each kind at its weight (MSLM, section 3.1, equations 2 to
6).

Terms are the entities of a labelled sentence: such masking is for training, never for text to be tagged.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acclimate.data.corpus import Sentence
from acclimate.data.schemes import Span
from acclimate.methods.masking.word_runs import words_to_hide

SHOWN, TERM, BASE = 0, 1, 2  # what a word is: as it stands, hidden with its term (ELM), hidden by itself (BLM)
Kinds = NDArray[np.int8]


def gold_spans(sentence: Sentence) -> Sequence[Span]:
    """The entities that a sentence is labelled with."""
    return sentence.spans


@dataclass(frozen=True)
class JointMasking:
    """Entity-level masking (ELM) of a share of a sentence's terms, and base-level masking (BLM) of a share of its words
    among the generic rest. Both numbers are rounded up; the two never meet.

    `other_terms` lets base-level masking take words of terms that are not hidden. `terms` says which spans of a
    sentence are terms; for text without labels that may be a dictionary's matches.
    """

    elm: float = 1.0  # share of the terms
    blm: float = 0.075  # share of the words, terms counted
    other_terms: bool = False
    terms: Callable[[Sentence], Sequence[Span]] = gold_spans

    def draw(self, sentence: Sentence, dice: np.random.Generator) -> Kinds:
        """What becomes of each word (word)."""
        terms = self.terms(sentence)
        chosen = dice.permutation(len(terms))[: words_to_hide(self.elm, len(terms))].tolist()
        kinds = np.zeros(len(sentence), np.int8)
        taken = np.zeros(len(sentence), bool)
        for number, term in enumerate(terms):
            if number in chosen:
                kinds[term.start : term.end] = TERM
            taken[term.start : term.end] |= not self.other_terms or number in chosen
        free = np.flatnonzero(~taken)
        count = min(words_to_hide(self.blm, len(sentence)), len(free))
        kinds[dice.permutation(free)[:count]] = BASE
        return kinds

    def draw_fixed(self, sentence: Sentence, seed: int) -> Kinds:
        """The draw that belongs to this very sentence: always the same, whatever was drawn before."""
        return self.draw(sentence, np.random.default_rng([seed, *_digest(sentence)]))


def _digest(sentence: Sentence) -> list[int]:
    rows = [sentence.words] if sentence.tags is None else [sentence.words, sentence.tags]
    return [zlib.crc32("\0".join(row).encode("utf-8", "surrogatepass")) for row in rows]


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
    majority.
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
    that it keeps one scale beside other losses.
    """
    elm, blm = (losses.new_full((), weight) for weight in weights)
    costs = torch.where(is_elm, elm, blm) * counted
    divisor = counted.sum().clamp(min=1) if normalise == "masked" else costs.sum() + (~counted.any())
    total: Tensor = (torch.where(counted, losses, 0) * costs).sum() / divisor
    return total
