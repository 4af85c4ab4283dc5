"""Policies that draw runs of words on the CPU: random spans, or collocations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from acclimate.data.collocations import Collocations
from acclimate.methods.masking.mutual_information import draw_collocations
from acclimate.methods.masking.policy import Policy
from acclimate.methods.masking.puzzle import Puzzle
from acclimate.methods.masking.spans import draw_spans

Order = Callable[[Sequence[str], np.random.Generator], list[int]]


class RunsOfWords(Policy):
    """Puts all words of a sentence in the order in which they would be hidden; the budget cuts that order off.

    So the draw need not know the budget, which is counted in pieces or words, and rows that are parts of a long
    sentence share one draw.
    """

    def __init__(self, name: str, order: Order) -> None:
        """`order` numbers all words of a sentence, first the one to hide first."""
        super().__init__()
        self.name, self._order = name, order

    def forward(self, puzzle: Puzzle) -> Tensor:
        dice = np.random.default_rng(int(torch.randint(2**62, ())))  # fixed by torch's own state, which is saved
        ranks = np.concatenate([_ranks(self._order(sentence.words, dice)) for sentence in puzzle.originals])
        return puzzle.spread(torch.from_numpy(-ranks).float().to(puzzle.pieces.device, non_blocking=True))


def spans(lengths: Sequence[int] = (2, 3, 4)) -> RunsOfWords:
    """Random runs of two to four words (SPAN)."""
    return RunsOfWords("span", lambda words, dice: draw_spans(len(words), len(words), dice, tuple(lengths)))


def collocations(known: Collocations, ranked: bool = False) -> RunsOfWords:
    """Words that belong together, together (PMI). `ranked` takes the most tightly bound first, always."""
    return RunsOfWords("pmi", lambda words, dice: draw_collocations(words, known, len(words), dice, ranked))


def _ranks(order: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    ranks = np.empty(len(order), np.int64)
    ranks[np.asarray(order)] = np.arange(len(order))
    return ranks
