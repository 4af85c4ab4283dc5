"""Batches of one domain or task each, in turns that the seed alone decides."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, sqrt
from typing import Literal

import torch

from acclimate.data.batches import Batch, Batches
from acclimate.data.corpus import Corpus

Balance = Literal["none", "square-root"]


@dataclass(frozen=True)
class Alternating:
    """An endless stream of batches that hold one corpus each, where `Batches` puts the corpora side by side.

    As it stands, an epoch is all batches of all corpora, shuffled: each has its turns in proportion to its size (tasks
    that share an encoder). The other settings are those of the released codes of DATNet (Zhou et al. 2019). Of the
    first corpus, the source, an epoch takes `mix_rate` of a pass, times the square root of source over target
    sentences where `balance` says so, but a batch at least; the next epoch goes on from there. Of the other corpus it
    takes one pass, of which the share `tail` is kept back and closes the epoch alone: 0.2 in one code; in the other
    0.8 up to 500 sentences, 0.3 with all of them, 0.5 in between.

    Which sentences stand in batch number n is a function of (seed, n).
    """

    corpora: Mapping[str, Corpus]
    words_per_batch: int = 1024
    sentences_per_batch: int | None = None
    seed: int = 0
    costs: Callable[[Corpus], Sequence[int] | None] = field(default=lambda corpus: None, compare=False, repr=False)
    mix_rate: float = 1.0
    tail: float = 0.0
    balance: Balance = "none"
    # how many batches of each corpus came before each epoch seen so far; their sum is the epoch's first number
    _before: list[dict[str, int]] = field(init=False, default_factory=list, compare=False, repr=False)
    # the turns of the latest epoch: whose it is, and which of its own batches
    _turns: dict[int, list[tuple[str, int]]] = field(init=False, default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.corpora:
            raise ValueError("There is no corpus to take turns: give one at least.")
        if not 0 < self.mix_rate < inf:
            raise ValueError(f"The mix rate is a share of the source's batches: above 0, not {self.mix_rate}.")
        if not 0 <= self.tail <= 1:
            raise ValueError(f"The tail is a share of the target's batches: from 0 to 1, not {self.tail}.")
        if self.balance not in ("none", "square-root"):
            raise ValueError(f"The balance is 'none' or 'square-root', not {self.balance!r}.")
        if (self.tail or self.balance != "none") and len(self.corpora) != 2:
            names = ", ".join(self.corpora)
            raise ValueError(f"A tail or a balance needs two corpora, a source and a target, not: {names}.")
        self._before.append(dict.fromkeys(self.corpora, 0))
        _ = self._batches  # refuses a corpus without sentences

    @cached_property
    def epoch_length(self) -> int:
        """How many batches the first epoch has; later ones differ by a few."""
        return _total(self._after(0))

    def batch(self, number: int) -> Batch:
        """Batch number n of the endless stream."""
        while number >= _total(self._before[-1]):
            self._before.append(self._after(len(self._before) - 1))
        epoch = bisect_right(self._before, number, key=_total) - 1
        name, own = self._turns_of(epoch)[number - _total(self._before[epoch])]
        return {name: self._batches.part(name, own)}

    def starting_at(self, number: int, step: int = 1) -> Iterator[Batch]:
        """All batches from number n on; `step` is the number of processes that share the stream."""
        while True:
            yield self.batch(number)
            number += step

    def size(self, batch: Batch) -> int:
        """Words in a batch."""
        return self._batches.size(batch)

    @cached_property
    def _batches(self) -> Batches:
        return Batches(self.corpora, self.words_per_batch, self.sentences_per_batch, self.seed, self.costs)

    @cached_property
    def _source_share(self) -> float:
        """The part of a pass over the source that an epoch takes."""
        if self.balance == "none":
            return self.mix_rate
        source, target = self.corpora.values()
        return self.mix_rate * sqrt(len(source) / len(target))

    def _after(self, epoch: int) -> dict[str, int]:
        """How many batches of each corpus have come when an epoch ends."""
        source, *others = self.corpora
        after = {name: self._batches.start_of(name, epoch + 1) for name in others}
        begin = self._before[epoch][source]
        which = self._batches.pass_of(source, begin)
        whole = self._batches.start_of(source, which + 1) - self._batches.start_of(source, which)
        return {source: begin + max(1, _whole(self._source_share * whole)), **after}

    def _turns_of(self, epoch: int) -> list[tuple[str, int]]:
        if epoch not in self._turns:
            counts = dict(self._before[epoch])
            turns = []
            for name in self._order(epoch):  # of each corpus one after the other, or its plans would be made anew
                turns.append((name, counts[name]))
                counts[name] += 1
            self._turns.clear()
            self._turns[epoch] = turns
        return self._turns[epoch]

    def _order(self, epoch: int) -> list[str]:
        """Whose turn it is, all through an epoch."""
        counts = {name: self._before[epoch + 1][name] - before for name, before in self._before[epoch].items()}
        last = list(self.corpora)[-1]
        tail = counts[last] - _whole((1 - self.tail) * counts[last])
        counts[last] -= tail
        names = [name for name, count in counts.items() for _ in range(count)]
        # the corpora's own plans have the seeds with 0, 1, ... in the last place
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch * 101 + len(self.corpora))
        return [names[place] for place in torch.randperm(len(names), generator=generator).tolist()] + [last] * tail


def _total(counts: Mapping[str, int]) -> int:
    return sum(counts.values())


def _whole(count: float) -> int:
    """Rounded down, but not because a computer is a hair below: 0.29 of 100 batches are 29, not 28."""
    return int(round(count, 9))
