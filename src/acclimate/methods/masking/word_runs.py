"""Hiding words that stand side by side: random spans (SPAN) and collocations (PMI), as MSLM compares them.

SPAN hides random runs of neighbouring words (Joshi et al. 2020; MSLM, Algorithm 1). The algorithm is repaired where its
print is wrong: a run stops at the end of the sentence, where the printed one would make the sentence longer, and a
budget that its runs leave over is spent on single words.

PMI hides collocations whole (Levine et al. 2021; MSLM, Algorithm 2). A word of a collocation is easily guessed from the
others ("New [MASK] City"), and little is learnt by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from acclimate.data.collocations import Collocations, Occurrence
from acclimate.methods.masking.masked_batch import MaskedBatch
from acclimate.methods.masking.policy import Policy


def words_to_hide(share: float, count: int) -> int:
    """A share of `count` words, rounded up, so that the shortest sentence has one hidden too (MSLM, Algorithm 1)."""
    if not 0 <= share <= 1:
        raise ValueError(f"The share of hidden words must lie between 0 and 1, not {share}.")
    return math.ceil(round(share * count, 9))  # 0.07 of 100 words is 7, though not in binary fractions


def require_budget(budget: int, count: int) -> None:
    """Refuse to hide more words than there are."""
    if not 0 <= budget <= count:
        raise ValueError(f"Of {count} words, {budget} cannot be hidden; the budget must lie between 0 and {count}.")


def fill_up(chosen: Sequence[int], count: int, budget: int, dice: np.random.Generator) -> list[int]:
    """The words chosen, and then single random ones of those still free until the budget is spent."""
    missing = budget - len(chosen)
    if missing <= 0:  # no dice are thrown for nothing
        return list(chosen)
    taken = set(chosen)
    free = [word for word in range(count) if word not in taken]
    places = dice.permutation(len(free))[:missing]
    return [*chosen, *(free[place] for place in places.tolist())]


LENGTHS = (2, 3, 4)


def draw_spans(count: int, budget: int, dice: np.random.Generator, lengths: Sequence[int] = LENGTHS) -> list[int]:
    """Exactly `budget` of `count` words, by number, in the order in which they were chosen.

    Every word is tried once as the start of a run, in random order; each run draws one of the `lengths`. What is still
    missing when all starts are used up is filled with single random words: every masker spends its budget exactly, or
    a comparison of maskers would compare amounts.
    """
    require_budget(budget, count)
    if not lengths or min(lengths) < 1:
        raise ValueError(f"The lengths of runs must be whole numbers from 1 on, not {tuple(lengths)}.")
    starts = dice.permutation(count).tolist()
    drawn = dice.choice(lengths, count).tolist()
    return fill_up(lay_spans(count, budget, zip(starts, drawn, strict=True)), count, budget, dice)


def lay_spans(count: int, budget: int, spans: Iterable[tuple[int, int]]) -> list[int]:
    """The words of runs given as (start, length), laid one after the other while the budget lasts.

    A run is cut to the budget that is left and at the end of the sentence, and skipped if a word of what remains is
    chosen already. Two runs may stand side by side.
    """
    chosen: dict[int, None] = {}  # a set that keeps its order
    for start, length in spans:
        left = budget - len(chosen)
        if not left:
            break
        run = range(start, min(start + min(length, left), count))
        if chosen.keys().isdisjoint(run):
            chosen.update(dict.fromkeys(run))
    return list(chosen)


def draw_units(
    words: Sequence[str], collocations: Collocations, dice: np.random.Generator, ranked: bool = False
) -> list[range]:
    """All words of a sentence as collocations and single words, in the order in which they are to be hidden.

    The default is Levine's way: the sentence is cut into its collocations and the single words between them, and these
    units come in random order, so that each epoch hides other words. Of two collocations that overlap, the longer is
    the unit, and of two equally long ones the better ranked.

    `ranked` is the order of MSLM's Algorithm 2: the best ranked collocation of the sentence first, down to the last,
    and then single random words. It hides the same words of a sentence every time. Use it only to repeat that paper.
    """
    found = collocations.find(words)
    if ranked:
        best_first = _apart(sorted(found, key=lambda one: (one.rank, one.start)))
        single = _units((), len(words), set(chain.from_iterable(best_first)))
        return [*best_first, *(single[number] for number in dice.permutation(len(single)).tolist())]
    apart = _apart(found)
    units = _units(apart, len(words), set(chain.from_iterable(apart)))
    return [units[number] for number in dice.permutation(len(units)).tolist()]


def fitting_first(units: Iterable[range], budget: int, sizes: Sequence[int] | None = None) -> list[range]:
    """The units that fit one after the other into the budget, then those that did not, single words before others: one
    is cut if anything is left over. `sizes` says how much of the budget each word takes, where that is not 1."""
    fitting, others = [], []
    for unit in units:
        size = len(unit) if sizes is None else sum(sizes[word] for word in unit)
        if size <= budget:
            budget -= size
            fitting.append(unit)
        else:
            others.append(unit)
    return fitting + sorted(others, key=len)


def first_words(runs: Iterable[range], budget: int) -> list[int]:
    return list(chain.from_iterable(runs))[:budget]


def _apart(found: Iterable[Occurrence]) -> list[range]:
    """The collocations that share no word with an earlier one."""
    taken: set[int] = set()
    kept = []
    for start, end, _ in found:
        run = range(start, end)
        if taken.isdisjoint(run):
            taken.update(run)
            kept.append(run)
    return kept


def _units(runs: Sequence[range], count: int, inside: set[int]) -> list[range]:
    """The runs and, each by itself, the words that are in none."""
    return [*runs, *(range(word, word + 1) for word in range(count) if word not in inside)]


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

    def __init__(
        self, name: str, order: Order, asks_for_room: Callable[[MaskedBatch], bool] = lambda batch: False
    ) -> None:
        """`order` numbers all words of a sentence, first the one to hide first. It is told how much room there is only
        if it asks: a GPU would have to wait for the answer."""
        super().__init__()
        self.name, self._order, self._asks = name, order, asks_for_room

    def forward(self, batch: MaskedBatch) -> Tensor:
        dice = np.random.default_rng(int(torch.randint(2**62, ())))  # fixed by torch's own state, which is saved
        rooms = room_of(batch) if self._asks(batch) else [None] * len(batch.originals)
        ranks = np.concatenate(
            [
                _ranks(self._order(sentence.words, dice, room))
                for sentence, room in zip(batch.originals, rooms, strict=True)
            ]
        )
        return batch.spread(torch.from_numpy(-ranks).float().to(batch.pieces.device, non_blocking=True))


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

    return RunsOfWords("span", order, lambda batch: batch.by_words)


def collocations(known: Collocations, ranked: bool = False, whole: bool = False) -> RunsOfWords:
    """Words that belong together, together (PMI). `ranked` takes the most tightly bound first, always. `whole` passes
    over a collocation that no longer fits into the budget instead of cutting it."""

    def order(words: Sequence[str], dice: np.random.Generator, room: Room | None) -> list[int]:
        units = draw_units(words, known, dice, ranked)
        return first_words(units if room is None else fitting_first(units, room.budget, room.sizes), len(words))

    return RunsOfWords("pmi", order, lambda batch: whole)


def room_of(batch: MaskedBatch) -> list[Room]:
    """For each sentence of the batch, how much of it is hidden: in all its rows together, if it has several."""
    if batch.words is None:
        raise ValueError("Runs of words are hidden only in text that came as sentences, not in bare pieces.")
    lengths = [len(sentence) for sentence in batch.originals]
    words, allowed = batch.words.cpu().numpy(), batch.allowed.cpu().numpy()
    sizes = np.bincount(words[allowed & (words >= 0)], minlength=sum(lengths))
    sentence_of = np.repeat(np.arange(len(lengths)), lengths)
    budgets = np.zeros(len(lengths), np.int64)
    np.add.at(budgets, sentence_of[words.max(1)], batch.sizes.cpu().numpy())
    ends = np.cumsum(lengths)
    parts = np.split(sizes, ends[:-1])
    return [Room(budget, part.tolist()) for budget, part in zip(budgets.tolist(), parts, strict=True)]


def _ranks(order: Sequence[int]) -> Numbers:
    ranks = np.empty(len(order), np.int64)
    ranks[np.asarray(order, np.int64)] = np.arange(len(order))
    return ranks
