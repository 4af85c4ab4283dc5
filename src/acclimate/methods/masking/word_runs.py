"""Hide neighbouring words: random spans (Joshi et al. 2020; MSLM, Algorithm 1) and collocations (PMI masking; Levine et
al. 2021; MSLM, Algorithm 2). Algorithm 1 is repaired: a span stops at the end of the sentence, and budget that is left
over is spent on single words."""

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
    """A share of `count` words, rounded up (MSLM, Algorithm 1)."""
    return math.ceil(round(share * count, 9))  # 0.07 of 100 words is 7


def fill_up(chosen: Sequence[int], count: int, budget: int, dice: np.random.Generator) -> list[int]:
    """The words chosen, and then random single words until the budget is spent."""
    missing = budget - len(chosen)
    if missing <= 0:
        return list(chosen)
    taken = set(chosen)
    free = [word for word in range(count) if word not in taken]
    places = dice.permutation(len(free))[:missing]
    return [*chosen, *(free[place] for place in places.tolist())]


LENGTHS = (2, 3, 4)


def draw_spans(count: int, budget: int, dice: np.random.Generator, lengths: Sequence[int] = LENGTHS) -> list[int]:
    """Exactly `budget` of `count` words. Every word is tried once as the start of a span of random length; what is
    missing then is filled with random single words."""
    if not lengths or min(lengths) < 1:
        raise ValueError(f"The lengths of runs must be whole numbers from 1 on, not {tuple(lengths)}.")
    starts = dice.permutation(count).tolist()
    drawn = dice.choice(lengths, count).tolist()
    return fill_up(lay_spans(count, budget, zip(starts, drawn, strict=True)), count, budget, dice)


def lay_spans(count: int, budget: int, spans: Iterable[tuple[int, int]]) -> list[int]:
    """The words of spans given as (start, length), cut to the budget and the sentence; spans that overlap are
    skipped."""
    chosen: dict[int, None] = {}  # an ordered set
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
    """All words of a sentence as collocations and single words, in the order in which they are to be hidden. The
    default order is random (Levine); `ranked` takes the best collocation first (MSLM, Algorithm 2), always the same."""
    occurrences = collocations.find(words)
    if ranked:
        best_first = _apart(sorted(occurrences, key=lambda one: (one.rank, one.start)))
        single = _units(best_first, len(words))[len(best_first) :]
        return [*best_first, *(single[number] for number in dice.permutation(len(single)).tolist())]
    units = _units(_apart(occurrences), len(words))
    return [units[number] for number in dice.permutation(len(units)).tolist()]


def fitting_first(units: Iterable[range], budget: int, sizes: Sequence[int]) -> list[range]:
    """The units that fit one after the other into the budget, then the others, the shortest first. `sizes` says how
    much of the budget each word takes."""
    fitting, others = [], []
    for unit in units:
        size = sum(sizes[word] for word in unit)
        if size <= budget:
            budget -= size
            fitting.append(unit)
        else:
            others.append(unit)
    return fitting + sorted(others, key=len)


def _apart(occurrences: Iterable[Occurrence]) -> list[range]:
    """The collocations that share no word with an earlier one."""
    taken: set[int] = set()
    runs = []
    for start, end, _ in occurrences:
        run = range(start, end)
        if taken.isdisjoint(run):
            taken.update(run)
            runs.append(run)
    return runs


def _units(runs: Sequence[range], count: int) -> list[range]:
    """The runs and, each by itself, the words that are in none."""
    inside = set(chain.from_iterable(runs))
    return [*runs, *(range(word, word + 1) for word in range(count) if word not in inside)]


@dataclass(frozen=True)
class Room:
    """How many places of a sentence are to be hidden, and how many each of its words takes."""

    budget: int
    sizes: Sequence[int]  # (word)


Order = Callable[[Sequence[str], np.random.Generator, Room | None], list[int]]


class RunsOfWords(Policy):
    """Orders all words of a sentence by when they would be hidden; the budget cuts that order off. So the draw need not
    know the budget, and rows of a long sentence share one draw."""

    def __init__(
        self, name: str, order: Order, asks_for_room: Callable[[MaskedBatch], bool] = lambda batch: False
    ) -> None:
        """`order` numbers all words of a sentence, first the one to hide first. It gets the room only if it asks for
        it."""
        super().__init__()
        self.name, self._order, self._asks = name, order, asks_for_room

    def forward(self, batch: MaskedBatch) -> Tensor:
        dice = np.random.default_rng(int(torch.randint(2**62, ())))  # follows torch's state, which is saved
        rooms = room_of(batch) if self._asks(batch) else [None] * len(batch.originals)
        pairs = zip(batch.originals, rooms, strict=True)
        # where each word stands in the order: the inverse of a permutation sorts it
        ranks = np.concatenate([np.argsort(self._order(sentence.words, dice, room)) for sentence, room in pairs])
        return batch.spread(torch.from_numpy(-ranks).float().to(batch.pieces.device, non_blocking=True))


def spans(lengths: Sequence[int] = (2, 3, 4)) -> RunsOfWords:
    """Random spans of two to four words. Where words are counted, a span is cut to the budget that is left before
    overlaps are checked (Algorithm 1)."""

    def order(words: Sequence[str], dice: np.random.Generator, room: Room | None) -> list[int]:
        count = len(words)
        budget = count if room is None else min(room.budget, count)
        # all words are ordered: each row of a long sentence has a budget of its own
        return fill_up(draw_spans(count, budget, dice, tuple(lengths)), count, count, dice)

    return RunsOfWords("span", order, lambda batch: batch.by_words)


def collocations(known: Collocations, ranked: bool = False, whole: bool = False) -> RunsOfWords:
    """Collocations, whole (PMI). `ranked` takes the best ranked first; `whole` skips one that exceeds the budget."""

    def order(words: Sequence[str], dice: np.random.Generator, room: Room | None) -> list[int]:
        units = draw_units(words, known, dice, ranked)
        return list(chain.from_iterable(units if room is None else fitting_first(units, room.budget, room.sizes)))

    return RunsOfWords("pmi", order, lambda batch: whole)


def room_of(batch: MaskedBatch) -> list[Room]:
    """For each sentence of the batch, how much of it is hidden in all its rows."""
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
