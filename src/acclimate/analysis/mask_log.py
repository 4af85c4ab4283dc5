"""The masks that a run logged, and their sums: which words of which sentences were hidden, when, and by whom.

Domain tuning writes them to `records.jsonl` as `{"kind": "masks", "update": …, "policy": …, "rows": [{"words": […],
"hidden": […], "places": […], "drawn": …, "by": …}, …]}`. A log of any length fits into memory: it is read line by line
and added up a few hundred rows at a time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from acclimate.analysis.run_records import read_records, record_files
from acclimate.analysis.text_comparison import DensityRatio
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.evaluation.seen import Vocabulary, fold

if TYPE_CHECKING:
    from acclimate.inference.part_of_speech import PartOfSpeechTagger


@dataclass(frozen=True, slots=True)
class MaskedRow:
    """One sentence of one update. `by` is the policy that chose its hidden words, which in a mixture may be either."""

    update: int
    policy: str
    words: tuple[str, ...]
    hidden: tuple[int, ...]  # numbers of words
    by: str
    places: tuple[int, ...] | None = None  # of each word, that could be drawn: its pieces, or 1; None: 1 for all
    drawn: int = 0  # places of the row that were drawn, where `places` is known

    @property
    def chances(self) -> list[float]:
        """How likely each word is to be hidden, in part at least, where as many places are drawn blindly."""
        places = self.places if self.places is not None else (1,) * len(self.words)
        drawn = self.drawn if self.places is not None else len(self.hidden)
        total = sum(places)
        known = {count: chance_to_be_drawn(count, drawn, total) for count in set(places)}
        return [known[count] for count in places]

    @property
    def hidden_words(self) -> tuple[str, ...]:
        return tuple(self.words[number] for number in self.hidden)


def chance_to_be_drawn(count: int, drawn: int, total: int) -> float:
    """That of `total` places, of which so many are drawn, one of these `count` at least is among them."""
    missed = 1.0
    for number in range(count):
        missed *= max(0, total - drawn - number) / (total - number)
    return 1 - missed


def read_masks(place: str | Path) -> Iterator[MaskedRow]:
    """The masked rows of a run folder, or of one `records.jsonl`, in the order of the log."""
    found = False
    for file in record_files(place):
        for row in _read_file(file):
            found = True
            yield row
    if not found:
        raise InputError(
            "no masks are logged here. Name the folder of a run whose recipe hides words and logs which ones.",
            file=place,
        )


def _read_file(file: Path) -> Iterator[MaskedRow]:
    # most lines are losses: not worth parsing
    for number, entry in read_records(file, lambda line: b'"masks"' in line):
        if entry.get("kind") == "masks":
            yield from _rows(entry, file, number)


def _rows(entry: Mapping[str, Any], file: Path, number: int) -> Iterator[MaskedRow]:
    try:
        update, policy = int(entry["update"]), str(entry["policy"])
        for row in entry["rows"]:
            yield _row(update, policy, row)
    except (KeyError, TypeError, ValueError) as error:
        problem = f"an entry of masks needs update, policy, and rows of words, hidden and by; wrong here: {error}."
        raise InputError(problem, file=file, line=number) from None


def _row(update: int, policy: str, row: Mapping[str, Any]) -> MaskedRow:
    words = row["words"]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"words {words!r}")
    hidden = sorted({int(number) for number in row["hidden"]})  # a word in several pieces is still hidden once
    if hidden and not 0 <= hidden[0] <= hidden[-1] < len(words):
        raise ValueError(f"hidden {row['hidden']} of {len(words)} words")
    by = str(row.get("by") or policy)
    if "places" not in row:
        return MaskedRow(update, policy, tuple(words), tuple(hidden), by)
    places, drawn = tuple(int(count) for count in row["places"]), int(row["drawn"])
    if len(places) != len(words) or min(places, default=0) < 0 or not bool(hidden) <= drawn <= sum(places):
        raise ValueError(f"places {row['places']} of {len(words)} words, of which {drawn} were drawn")
    return MaskedRow(update, policy, tuple(words), tuple(hidden), by, places, drawn)


Words = tuple[str, ...]


@dataclass(frozen=True)
class Yardsticks:
    """Whatever is at hand; what is not given is not told.

    `source` says which words are unseen, with `target` also how much a word is the target's (density ratio). In `gold`
    sentences are looked up for their entities. `tagger` must give universal parts of speech. `lower_case` is how words
    are compared, but sentences are looked up as they are written.
    """

    source: Corpus | None = None
    target: Corpus | None = None
    gold: Sequence[Corpus] = ()
    tagger: PartOfSpeechTagger | None = None
    lower_case: bool = True

    def __post_init__(self) -> None:
        for corpus in self.gold:
            if corpus.kind == "plain" or not corpus.is_labelled:
                raise InputError(f"{corpus.name} has no spans to look hidden words up in; give a corpus with entities.")

    @cached_property
    def density_ratio(self) -> DensityRatio | None:
        if self.source is None or self.target is None:
            return None
        return DensityRatio.of(self.source, self.target, lower_case=self.lower_case)

    @cached_property
    def known(self) -> Vocabulary | None:
        """The words of the source."""
        return None if self.source is None else Vocabulary.of(self.source, lower_cased=self.lower_case)

    @cached_property
    def remembering_tagger(self) -> RememberingTagger | None:
        return None if self.tagger is None else RememberingTagger(self.tagger)

    @cached_property
    def entities(self) -> dict[Words, frozenset[int]]:
        """Which words of each labelled sentence are in an entity. Of equal sentences the first one counts."""
        found: dict[Words, frozenset[int]] = {}
        for sentence in (sentence for corpus in self.gold for sentence in corpus.labelled()):
            inside = (number for span in sentence.spans for number in range(span.start, span.end))
            found.setdefault(sentence.words, frozenset(inside))
        return found


class RememberingTagger:
    """A part-of-speech tagger that tags a sentence once: the log of a run shows the same ones in every epoch."""

    def __init__(self, tagger: PartOfSpeechTagger, most: int = 100_000) -> None:
        self.tagger, self.most = tagger, most
        self._tags: dict[Words, Words] = {}

    @property
    def name(self) -> str:
        return self.tagger.name

    def tag(self, corpus: Corpus, progress: Callable[[int], None] | None = None) -> Corpus:
        """The same sentences under plain tags."""
        if len(self._tags) > self.most:
            self._tags.clear()  # a memory that only grows would hold a whole big corpus
        new = dict.fromkeys(sentence.words for sentence in corpus if sentence.words not in self._tags)
        if new:
            tagged = self.tagger.tag(Corpus.of(map(Sentence, new)))
            self._tags.update((sentence.words, sentence.tags or ()) for sentence in tagged)
        if progress is not None:
            progress(len(corpus))
        known = corpus.with_tags(self._tags[sentence.words] for sentence in corpus)
        return Corpus(known.sentences, corpus.name, "plain", corpus.notes)


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
