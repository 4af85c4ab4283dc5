"""Policies that draw runs of words on the CPU: random spans, or collocations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from acclimate.data.collocations import Collocations
from acclimate.methods.masking.budget import fill_up
from acclimate.methods.masking.mutual_information import draw_units, first_words, fitting_first
from acclimate.methods.masking.policy import Policy
from acclimate.methods.masking.puzzle import Puzzle
from acclimate.methods.masking.spans import draw_spans

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True)
class Room:
    """How many places of a sentence are to be hidden, and how many each of its words takes."""

    budget: int
    sizes: Sequence[int]  # (word)


Order = Callable[[Sequence[str], np.random.Generator, Room | None], list[int]]


class RunsOfWords(Policy):
    """Puts all words of a sentence in the order in which they would be hidden; the budget cuts that order off.

    So the draw need not know the budget, which is counted in pieces or words, and rows that are parts of a long
    sentence share one draw.
    """

    def __init__(self, name: str, order: Order, asks_for_room: Callable[[Puzzle], bool] = lambda puzzle: False) -> None:
        """`order` numbers all words of a sentence, first the one to hide first. It is told how much room there is only
        if it asks: a GPU would have to wait for the answer."""
        super().__init__()
        self.name, self._order, self._asks = name, order, asks_for_room

    def forward(self, puzzle: Puzzle) -> Tensor:
        dice = np.random.default_rng(int(torch.randint(2**62, ())))  # fixed by torch's own state, which is saved
        rooms = room_of(puzzle) if self._asks(puzzle) else [None] * len(puzzle.originals)
        ranks = np.concatenate(
            [
                _ranks(self._order(sentence.words, dice, room))
                for sentence, room in zip(puzzle.originals, rooms, strict=True)
            ]
        )
        return puzzle.spread(torch.from_numpy(-ranks).float().to(puzzle.pieces.device, non_blocking=True))


def spans(lengths: Sequence[int] = (2, 3, 4)) -> RunsOfWords:
    """Random runs of two to four words (SPAN).

    Where words are counted, a run is cut to the budget that is left before it is seen whether it touches another one
    (Algorithm 1). Where pieces are, all runs are laid, and the budget then cuts the last of them.
    """

    def order(words: Sequence[str], dice: np.random.Generator, room: Room | None) -> list[int]:
        count = len(words)
        budget = count if room is None else min(room.budget, count)
        # more than the budget is drawn: of a long sentence each row has a budget of its own
        return fill_up(draw_spans(count, budget, dice, tuple(lengths)), count, count, dice)

    return RunsOfWords("span", order, lambda puzzle: puzzle.by_words)


def collocations(known: Collocations, ranked: bool = False, whole: bool = False) -> RunsOfWords:
    """Words that belong together, together (PMI). `ranked` takes the most tightly bound first, always. `whole` passes
    over a collocation that no longer fits into the budget instead of cutting it."""

    def order(words: Sequence[str], dice: np.random.Generator, room: Room | None) -> list[int]:
        units = draw_units(words, known, dice, ranked)
        return first_words(units if room is None else fitting_first(units, room.budget, room.sizes), len(words))

    return RunsOfWords("pmi", order, lambda puzzle: whole)


def room_of(puzzle: Puzzle) -> list[Room]:
    """For each sentence of the batch, how much of it is hidden: in all its rows together, if it has several."""
    if puzzle.words is None:
        raise ValueError("Runs of words are hidden only in text that came as sentences, not in bare pieces.")
    lengths = [len(sentence) for sentence in puzzle.originals]
    words, allowed = puzzle.words.cpu().numpy(), puzzle.allowed.cpu().numpy()
    sizes = np.bincount(words[allowed & (words >= 0)], minlength=sum(lengths))
    sentence_of = np.repeat(np.arange(len(lengths)), lengths)
    budgets = np.zeros(len(lengths), np.int64)
    np.add.at(budgets, sentence_of[words.max(1)], puzzle.sizes.cpu().numpy())
    ends = np.cumsum(lengths)
    parts = np.split(sizes, ends[:-1])
    return [Room(budget, part.tolist()) for budget, part in zip(budgets.tolist(), parts, strict=True)]


def _ranks(order: Sequence[int]) -> Numbers:
    ranks = np.empty(len(order), np.int64)
    ranks[np.asarray(order, np.int64)] = np.arange(len(order))
    return ranks
