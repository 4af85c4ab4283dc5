"""Hide whole terms and, apart from them, a few other words (MSLM, Abaho et al. 2024, section 3.1).

Terms are the entities of a labelled sentence: such masking is for training, never for text to be tagged (E2.17).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Sentence
from acclimate.data.schemes import Span
from acclimate.methods.masking.budget import words_to_hide

SHOWN, TERM, BASE = 0, 1, 2  # what a word is: as it stands, hidden with its term (ELM), hidden by itself (BLM)
Kinds = NDArray[np.int8]


def gold_spans(sentence: Sentence) -> Sequence[Span]:
    """The entities that a sentence is labelled with."""
    return sentence.spans


@dataclass(frozen=True)
class JointMasking:
    """Entity-level masking (ELM) of a share of a sentence's terms, and base-level masking (BLM) of a share of its words
    among the generic rest. Both numbers are rounded up; the two never meet.

    `other_terms` lets base-level masking take words of terms that are not hidden (E2.7). `terms` says which spans of a
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
