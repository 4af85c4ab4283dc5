"""Adding up masked rows, a few hundred at a time, so that a log of any length fits into memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from operator import mul
from typing import TypeVar

from acclimate.analysis.mask_log import MaskedRow
from acclimate.analysis.yardsticks import Yardsticks
from acclimate.data.corpus import Corpus, Sentence
from acclimate.evaluation.unseen import fold

ROWS_AT_ONCE = 512

Item = TypeVar("Item")
Expected = defaultdict[str, float]


@dataclass(frozen=True, slots=True)
class Compared:
    """A mean over the hidden words, over all words of the same rows, and over those that a blind choice would hide."""

    hidden: float
    overall: float
    blind: float


@dataclass
class Sums:
    """A value per word, added up over the hidden words, over all, and over all by their chances to be hidden."""

    hidden: float = 0.0
    hidden_count: int = 0
    overall: float = 0.0
    overall_count: int = 0
    blind: float = 0.0
    blind_count: float = 0.0

    def add(self, values: Sequence[float], hidden: Collection[int], chances: Sequence[float]) -> None:
        self.hidden += sum(values[number] for number in hidden)
        self.hidden_count += len(hidden)
        self.overall += sum(values)
        self.overall_count += len(values)
        self.blind += sum(map(mul, values, chances))
        self.blind_count += sum(chances)

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.hidden + other.hidden,
            self.hidden_count + other.hidden_count,
            self.overall + other.overall,
            self.overall_count + other.overall_count,
            self.blind + other.blind,
            self.blind_count + other.blind_count,
        )

    @property
    def compared(self) -> Compared | None:
        """The means; None where nothing was hidden."""
        if not self.hidden_count:
            return None
        means = (self.hidden / self.hidden_count, self.overall / self.overall_count, self.blind / self.blind_count)
        return Compared(*means)


@dataclass
class Counts:
    """Everything that is counted over some rows."""

    rows: int = 0
    words: Counter[str] = field(default_factory=Counter)
    hidden: Counter[str] = field(default_factory=Counter)
    blind: Expected = field(default_factory=lambda: Expected(float))  # how often chance would have hidden each word
    hidden_by_update: Counter[int] = field(default_factory=Counter)
    ratios_by_update: dict[int, Sums] = field(default_factory=dict)
    unseen: Sums = field(default_factory=Sums)
    in_entities: Sums = field(default_factory=Sums)
    looked_up: int = 0
    tags: Counter[str] = field(default_factory=Counter)
    hidden_tags: Counter[str] = field(default_factory=Counter)
    blind_tags: Expected = field(default_factory=lambda: Expected(float))

    def add(self, row: MaskedRow, tags: Sequence[str] | None, yardsticks: Yardsticks) -> None:
        """One more row, with its parts of speech where a tagger gave them."""
        self.rows += 1
        words = [fold(word, yardsticks.lower_case) for word in row.words]
        self.words.update(words)
        self.hidden.update(words[number] for number in row.hidden)
        self.hidden_by_update[row.update] += len(row.hidden)
        chances = row.chances
        _add_up(self.blind, words, chances)
        if tags is not None:
            self.tags.update(tags)
            self.hidden_tags.update(tags[number] for number in row.hidden)
            _add_up(self.blind_tags, tags, chances)
        self._judge(row, chances, yardsticks)

    def _judge(self, row: MaskedRow, chances: Sequence[float], yardsticks: Yardsticks) -> None:
        ratio, known, inside = yardsticks.density_ratio, yardsticks.known, yardsticks.entities.get(row.words)
        if ratio is not None:
            sums = self.ratios_by_update.setdefault(row.update, Sums())
            sums.add([ratio(word) for word in row.words], row.hidden, chances)
        if known is not None:
            self.unseen.add([not known.has_word(word) for word in row.words], row.hidden, chances)
        if inside is not None:
            self.looked_up += 1
            self.in_entities.add([number in inside for number in range(len(row.words))], row.hidden, chances)

    def __add__(self, other: Counts) -> Counts:
        updates = self.ratios_by_update.keys() | other.ratios_by_update.keys()
        return Counts(
            self.rows + other.rows,
            self.words + other.words,
            self.hidden + other.hidden,
            _sum(self.blind, other.blind),
            self.hidden_by_update + other.hidden_by_update,
            {
                update: self.ratios_by_update.get(update, Sums()) + other.ratios_by_update.get(update, Sums())
                for update in updates
            },
            self.unseen + other.unseen,
            self.in_entities + other.in_entities,
            self.looked_up + other.looked_up,
            self.tags + other.tags,
            self.hidden_tags + other.hidden_tags,
            _sum(self.blind_tags, other.blind_tags),
        )

    @property
    def density_ratio(self) -> Compared | None:
        return self.density_ratio_of(self.ratios_by_update)

    def density_ratio_of(self, updates: Iterable[int]) -> Compared | None:
        """Over the rows of these updates."""
        return sum(
            (self.ratios_by_update[update] for update in updates if update in self.ratios_by_update), Sums()
        ).compared


@dataclass
class RunCounts:
    """The counts of one run, apart by the policy that chose the row."""

    by: dict[str, Counts] = field(default_factory=dict)
    policies: dict[str, None] = field(default_factory=dict)  # in the order in which they came
    updates: int = 0

    @cached_property
    def everything(self) -> Counts:
        return sum(self.by.values(), Counts())


def count_rows(
    rows: Iterable[MaskedRow], yardsticks: Yardsticks, progress: Callable[[int], None] | None = None
) -> RunCounts:
    """Count the rows of one run."""
    found = RunCounts()
    for some in chunks(rows, ROWS_AT_ONCE):
        for row, tags in zip(some, _tags(some, yardsticks), strict=True):
            found.by.setdefault(row.by, Counts()).add(row, tags, yardsticks)
            found.policies[row.policy] = None
            found.updates = max(found.updates, row.update)
        if progress is not None:
            progress(len(some))
    return found


def _add_up(sums: Expected, items: Iterable[str], values: Iterable[float]) -> None:
    for item, value in zip(items, values, strict=True):
        sums[item] += value


def _sum(one: Expected, other: Expected) -> Expected:
    both = Expected(float, one)
    _add_up(both, other.keys(), other.values())
    return both


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """So many at a time, and what is left."""
    waiting = iter(items)
    while some := list(islice(waiting, size)):
        yield some


def _tags(rows: Sequence[MaskedRow], yardsticks: Yardsticks) -> Sequence[Sequence[str] | None]:
    tagger = yardsticks.remembering_tagger
    if tagger is None:
        return [None] * len(rows)
    # a sentence needs a word; a row without any has no tags either
    tagged = iter(tagger.tag(Corpus.of(Sentence(row.words) for row in rows if row.words)))
    return [next(tagged).tags if row.words else () for row in rows]
