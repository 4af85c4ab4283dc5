"""Endless streams of batches with little padding, in an order fixed by the seed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal, Protocol

from acclimate.data.corpus import Corpus, Sentence

if TYPE_CHECKING:  # only an order drawn at random waits for torch
    import torch

Batch = Mapping[str, Sequence[Sentence]]
"""Sentences by the name of their domain: `source`, `target`, or any others that a recipe uses."""

SOURCE, TARGET = "source", "target"

_SECTION = 64  # batches that are matched with others by length at a time


class Stream(Protocol):
    """Batches without end. Which one has number n depends on nothing that went before."""

    @property
    def epoch_length(self) -> int: ...

    def batch(self, number: int) -> Mapping[str, Any]:
        """Batch number n of the endless stream."""
        ...

    def starting_at(self, number: int, step: int = 1) -> Iterator[Mapping[str, Any]]:
        """All batches from number n on; `step` is the number of processes that share the stream."""
        while True:
            yield self.batch(number)
            number += step

    def size(self, batch: Mapping[str, Any]) -> int:
        """How much text is in a batch, in words unless the stream counts something else."""
        return sum(len(sentence) for sentences in batch.values() for sentence in sentences)


def plan(
    lengths: Sequence[int],
    words_per_batch: int,
    generator: torch.Generator | None = None,
    sentences_per_batch: int | None = None,
    costs: Sequence[int] | None = None,
) -> list[list[int]]:
    """Group sentence numbers into batches of at most `words_per_batch` words, padding counted.

    A longer sentence has a batch to itself. With a generator the batches come in random order; without one, from short
    to long. `costs` (such as pieces) say which sentences are alike where words are not what is padded.
    """
    sizes = lengths if costs is None else costs
    if generator is None:
        order = sorted(range(len(lengths)), key=lambda number: sizes[number])
    else:
        import torch

        # a little noise on the length: neighbours change from epoch to epoch while padding stays small
        noise = torch.rand(len(lengths), generator=generator).tolist()
        order = sorted(range(len(lengths)), key=lambda number: sizes[number] * (0.8 + 0.4 * noise[number]))
    batches: list[list[int]] = []
    batch: list[int] = []
    longest = 0
    for number in order:
        longest = max(longest, lengths[number])
        full = len(batch) == sentences_per_batch or longest * (len(batch) + 1) > words_per_batch
        if batch and full:
            batches.append(batch)
            batch, longest = [], lengths[number]
        batch.append(number)
    if batch:
        batches.append(batch)
    if generator is not None:
        shuffled = torch.randperm(len(batches), generator=generator).tolist()
        batches = [batches[number] for number in shuffled]
    return batches


@dataclass(frozen=True)
class Batches(Stream):
    """A stream of batches from one corpus, or from several side by side with sentences of like length.

    An epoch is one pass over the first corpus; the others start again as often as needed. Batch number n is a function
    of (seed, n), so a resumed run continues exactly where it was.
    """

    corpora: Mapping[str, Corpus]
    words_per_batch: int = 1024
    sentences_per_batch: int | None = None
    seed: int = 0
    # what reading each sentence costs, where that is not its number of words (`Encoder.count_pieces`)
    costs: Callable[[Corpus], Sequence[int] | None] = field(default=lambda corpus: None, compare=False, repr=False)
    pass_share: float = 1.0  # of a pass over the first corpus, that an epoch is
    # the stream whose first corpus these batches stand beside, where that is not the first one here (see `Joined`)
    beside: Batches | None = None
    # per corpus: the number of the first batch of each epoch seen so far, and the plan of the latest one
    _starts: dict[str, list[int]] = field(default_factory=dict, compare=False, repr=False)
    _plans: dict[str, tuple[int, list[list[int]]]] = field(default_factory=dict, compare=False, repr=False)
    _sizes: dict[str, tuple[list[int], Sequence[int] | None]] = field(default_factory=dict, compare=False, repr=False)
    # per corpus: the latest section of a pass (the pass, the section), and the order in which its batches come
    _orders: dict[str, tuple[tuple[int, int], list[int]]] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, corpus in self.corpora.items():
            if not len(corpus):
                raise ValueError(f"The {name} corpus {corpus.name!r} has no sentences to train on.")
            self._starts[name] = [0]

    @cached_property  # asked for at every update; planned anew, it would push the current epoch's plan out
    def epoch_length(self) -> int:
        """How many batches the first pass over the first corpus takes; later passes differ by a few."""
        return max(1, round(self.pass_share * len(self._plan(next(iter(self.corpora)), 0))))

    def batch(self, number: int) -> Batch:
        first, *others = self.corpora
        beside = {name: self._sentences(name, self._indices(name, number, self.beside or self)) for name in others}
        return {first: self.part(first, number), **beside}

    def part(self, name: str, number: int) -> list[Sentence]:
        """What batch number n holds of one corpus, where no other corpus of this stream stands beside it."""
        return self._sentences(name, self._indices(name, number, self.beside))

    def _sentences(self, name: str, indices: Sequence[int]) -> list[Sentence]:
        corpus = self.corpora[name]
        return [corpus[index] for index in indices]

    def _indices(self, name: str, number: int, other: Batches | None) -> list[int]:
        """The sentences of batch number n, of like length with those of the other stream's batch."""
        which = self.pass_of(name, number)
        place = number - self._starts[name][which]
        return self._plan(name, which)[place if other is None else self._matched(name, which, place, other)]

    def _matched(self, name: str, which: int, place: int, other: Batches) -> int:
        """Which batch of a pass comes in this place: in every section of the pass, the longest beside the longest."""
        section = which, place // _SECTION
        if name not in self._orders or self._orders[name][0] != section:
            begin = section[1] * _SECTION
            batches = self._plan(name, which)[begin : begin + _SECTION]
            first = self._starts[name][which] + begin
            lengths = [self._mean_length(name, batch) for batch in batches]
            others = [other.length_of(first + step) for step in range(len(batches))]
            order = [0] * len(batches)
            for mine, theirs in zip(_ranked(lengths), _ranked(others), strict=True):
                order[theirs] = begin + mine
            self._orders[name] = section, order
        return self._orders[name][1][place % _SECTION]

    def length_of(self, number: int) -> float:
        """The mean length of the sentences that batch number n holds of the first corpus."""
        name = next(iter(self.corpora))
        return self._mean_length(name, self._indices(name, number, self.beside))

    def _mean_length(self, name: str, batch: Sequence[int]) -> float:
        lengths, costs = self._sizes[name]
        sizes = lengths if costs is None else costs
        return sum(sizes[index] for index in batch) / len(batch)

    def pass_of(self, name: str, number: int) -> int:
        """The pass over a corpus that batch number n is part of."""
        starts = self._starts[name]
        while number >= starts[-1]:
            self.start_of(name, len(starts))
        return bisect_right(starts, number) - 1

    def start_of(self, name: str, which: int) -> int:
        """The number of the first batch of a pass over a corpus."""
        starts = self._starts[name]
        while which >= len(starts):
            starts.append(starts[-1] + len(self._plan(name, len(starts) - 1)))
        return starts[which]

    def _plan(self, name: str, epoch: int) -> list[list[int]]:
        if name not in self._plans or self._plans[name][0] != epoch:
            place = list(self.corpora).index(name)
            import torch

            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch * 101 + place)
            if name not in self._sizes:
                corpus = self.corpora[name]
                self._sizes[name] = [len(sentence) for sentence in corpus], self.costs(corpus)
            lengths, costs = self._sizes[name]
            batches = plan(lengths, self.words_per_batch, generator, self.sentences_per_batch, costs)
            self._plans[name] = epoch, batches
        return self._plans[name][1]


def _ranked(values: Sequence[float]) -> list[int]:
    """The places of the values, from the smallest value to the largest."""
    return sorted(range(len(values)), key=values.__getitem__)


@dataclass(frozen=True)
class Joined(Stream):
    """A stream whose batches hold, for each domain, sentences of several streams. The first stream sets the epoch."""

    parts: Mapping[str, Sequence[Batches]]  # by domain; each stream has that domain

    def __post_init__(self) -> None:
        for domain, streams in self.parts.items():
            if not streams or any(domain not in stream.corpora for stream in streams):
                raise ValueError(f"Every stream that is joined for {domain!r} must have a corpus of that name.")

    @property
    def epoch_length(self) -> int:
        return next(iter(self.parts.values()))[0].epoch_length

    def batch(self, number: int) -> Batch:
        return {
            domain: [sentence for stream in streams for sentence in stream.part(domain, number)]
            for domain, streams in self.parts.items()
        }


Balance = Literal["none", "square-root"]


@dataclass(frozen=True)
class Alternating(Stream):
    """A stream of batches that hold one corpus each, as in DATNet (Zhou et al. 2019). Batch n is a function of (seed,
    n).

    By default an epoch is all batches of all corpora, shuffled. The other settings follow the released codes of DATNet:
    of the first corpus, the source, an epoch takes `mix_rate` of a pass, times the square root of source over target
    sentences with `balance`. The share `tail` of the target's batches closes the epoch alone: 0.2 in one code; in the
    other 0.8 up to 500 sentences, 0.3 with all of them, 0.5 in between.
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
        while number >= _total(self._before[-1]):
            self._before.append(self._after(len(self._before) - 1))
        epoch = bisect_right(self._before, number, key=_total) - 1
        name, own = self._turns_of(epoch)[number - _total(self._before[epoch])]
        return {name: self._batches.part(name, own)}

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
        import torch

        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch * 101 + len(self.corpora))
        return [names[place] for place in torch.randperm(len(names), generator=generator).tolist()] + [last] * tail


def _total(counts: Mapping[str, int]) -> int:
    return sum(counts.values())


def _whole(count: float) -> int:
    """Rounded down, but not because a computer is a hair below: 0.29 of 100 batches are 29, not 28."""
    return int(round(count, 9))
