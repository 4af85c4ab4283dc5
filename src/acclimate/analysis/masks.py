"""What a masking policy hides: words of the target, words of which part of speech, unseen words.

mlm4uda, Figure 3 and Table 4. Every figure of the hidden words stands beside the same figure of all words in the same
rows, and beside that of a blind choice: one that draws as many places of each row by chance. Where the places are
pieces, a word of several pieces is hidden more often by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import count, islice
from operator import mul
from typing import TYPE_CHECKING, Any

from acclimate.analysis.run_records import MaskedRow
from acclimate.analysis.text_comparison import DensityRatio
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.writers.shared import CsvRow
from acclimate.evaluation.seen import Vocabulary
from acclimate.evaluation.table import align_records

if TYPE_CHECKING:
    from acclimate.inference.part_of_speech import PartOfSpeechTagger

Words = tuple[str, ...]
PARTS_OF_SPEECH = ("ADJ", "VERB", "NOUN", "PROPN", "PRON", "ADV", "others")  # the paper counts PROPN among the others
EVERYTHING = "all"
ROWS_AT_ONCE = 512
_WORDS, _RATIO, _UNSEEN = "words", "density ratio", "unseen"


@dataclass(frozen=True)
class Yardsticks:
    """What hidden words are measured by; a measure without its yardstick is left out.

    `source` says which words are unseen, with `target` also how much a word is the target's (density ratio). `tagger`
    must give universal parts of speech.
    """

    source: Corpus | None = None
    target: Corpus | None = None
    tagger: PartOfSpeechTagger | None = None
    lower_case: bool = True  # how words are compared
    _tags: dict[Words, Words] = field(default_factory=dict, compare=False)

    @cached_property
    def _density_ratio(self) -> DensityRatio | None:
        if self.source is None or self.target is None:
            return None
        return DensityRatio.of(self.source, self.target, lower_case=self.lower_case)

    @cached_property
    def _known(self) -> Vocabulary | None:
        """The words of the source."""
        return None if self.source is None else Vocabulary.of(self.source, lower_cased=self.lower_case)

    def tag(self, sentences: Iterable[Words]) -> None:
        """Tag each sentence once: a log shows the same ones in every epoch."""
        new = dict.fromkeys(words for words in sentences if words and words not in self._tags)
        if new and self.tagger is not None:
            tagged = self.tagger.tag(Corpus.of(map(Sentence, new)))
            self._tags.update((sentence.words, sentence.tags or ()) for sentence in tagged)

    def measure(self, words: Words) -> dict[str, Sequence[float]]:
        """By name, a number for each word."""
        numbers: dict[str, Sequence[float]] = {_WORDS: [1.0] * len(words)}
        if self._density_ratio is not None:
            numbers[_RATIO] = [self._density_ratio(word) for word in words]
        if self._known is not None:
            numbers[_UNSEEN] = [not self._known.has_word(word) for word in words]
        if words in self._tags:
            parts = [tag if tag in PARTS_OF_SPEECH else "others" for tag in self._tags[words]]
            numbers |= {name: [part == name for part in parts] for name in PARTS_OF_SPEECH}
        return numbers


@dataclass(frozen=True, slots=True)
class Compared:
    """A mean over the hidden words, over all words of the same rows, and over those that a blind choice would hide."""

    hidden: float
    overall: float
    blind: float


def _no_sums() -> dict[str, float]:
    return defaultdict(float)


@dataclass
class Tally:
    """What is measured of words, added up: over the hidden, over all, and over all by their chance to be hidden."""

    rows: int = 0
    hidden: dict[str, float] = field(default_factory=_no_sums)
    overall: dict[str, float] = field(default_factory=_no_sums)
    blind: dict[str, float] = field(default_factory=_no_sums)

    def add_row(self, row: MaskedRow, numbers: Mapping[str, Sequence[float]]) -> None:
        self.rows += 1
        probabilities = row.probabilities
        for name, own in numbers.items():
            self.hidden[name] += sum(own[number] for number in row.hidden)
            self.overall[name] += sum(own)
            self.blind[name] += sum(map(mul, own, probabilities))

    def add(self, other: Tally) -> None:
        self.rows += other.rows
        for name in other.overall:
            self.hidden[name] += other.hidden[name]
            self.overall[name] += other.overall[name]
            self.blind[name] += other.blind[name]

    def mean(self, name: str) -> Compared | None:
        """None where nothing was hidden, or this was not measured."""
        if not self.hidden[_WORDS] or name not in self.overall:
            return None
        sides = (self.hidden, self.overall, self.blind)
        return Compared(*(side[name] / side[_WORDS] for side in sides))


@dataclass
class RunTallies:
    """The tallies of one run by update, apart by the policy that chose the row."""

    by: dict[str, dict[int, Tally]] = field(default_factory=dict)
    policies: dict[str, None] = field(default_factory=dict)  # in the order in which they came
    updates: int = 0


def tally_rows(
    rows: Iterable[MaskedRow], yardsticks: Yardsticks, progress: Callable[[int], None] | None = None
) -> RunTallies:
    """Measure the rows of one run, a few hundred at a time."""
    tallies, waiting = RunTallies(), iter(rows)
    while some := list(islice(waiting, ROWS_AT_ONCE)):
        yardsticks.tag(row.words for row in some)
        for row in some:
            own = tallies.by.setdefault(row.by, {}).setdefault(row.update, Tally())
            own.add_row(row, yardsticks.measure(row.words))
            tallies.policies[row.policy] = None
            tallies.updates = max(tallies.updates, row.update)
        if progress is not None:
            progress(len(some))
    return tallies


@dataclass(frozen=True, slots=True)
class Period:
    """Some updates in a row. Without a hidden word in them, or without two corpora to compare, there is no ratio."""

    first: int
    last: int
    hidden: int
    density_ratio: Compared | None


@dataclass(frozen=True, slots=True)
class HiddenWords:
    """The hidden words of some rows. A figure is None where its yardstick was not given, or found nothing."""

    rows: int
    words: int
    hidden: int
    density_ratio: Compared | None
    periods: tuple[Period, ...]
    unseen: Compared | None  # share of words that the source does not have
    parts_of_speech: Mapping[str, Compared] | None

    @classmethod
    def of(cls, tallies: Iterable[Mapping[int, Tally]], updates: int, every: int) -> HiddenWords:
        """Of tallies by update. A period in which nothing was logged is there, and empty."""
        periods = [Tally() for _ in range(-(-updates // every))]
        whole = Tally()
        for by_update in tallies:
            for update, tally in by_update.items():
                whole.add(tally)
                periods[max(update - 1, 0) // every].add(tally)
        shares = {part: whole.mean(part) for part in PARTS_OF_SPEECH}
        known = {part: share for part, share in shares.items() if share is not None}
        return cls(
            rows=whole.rows,
            words=round(whole.overall[_WORDS]),
            hidden=round(whole.hidden[_WORDS]),
            density_ratio=whole.mean(_RATIO),
            periods=tuple(
                Period(number * every + 1, (number + 1) * every, round(own.hidden[_WORDS]), own.mean(_RATIO))
                for number, own in enumerate(periods)
            ),
            unseen=whole.mean(_UNSEEN),
            parts_of_speech=known or None,
        )


@dataclass(frozen=True, slots=True)
class MaskStatistics:
    """What one run hid: over all rows, and in a mixture also apart by the policy that chose the row."""

    run: str
    policy: str
    updates: int  # the last one logged
    every: int  # updates in a period
    everything: HiddenWords
    by: Mapping[str, HiddenWords]  # empty unless several policies chose

    @property
    def groups(self) -> dict[str, HiddenWords]:
        return {EVERYTHING: self.everything, **self.by}

    def as_dict(self) -> dict[str, Any]:
        head = {"run": self.run, "policy": self.policy, "updates": self.updates, "every": self.every}
        by = {name: asdict(group) for name, group in self.by.items()}
        return {**head, **asdict(self.everything), "by": by}


def mask_statistics(
    runs: Mapping[str, Iterable[MaskedRow]],
    yardsticks: Yardsticks | None = None,
    *,
    every: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[MaskStatistics]:
    """What each run hid: `mask_statistics({"a": read_masks("runs/a")})`.

    `every` is the length of a period in updates; without it the longest run has about ten, and all runs the same.
    `progress` gets the number of rows read.
    """
    if every is not None and every < 1:
        raise InputError(f"a period needs one update at least, not {every}.")
    tallied = {name: tally_rows(rows, yardsticks or Yardsticks(), progress) for name, rows in runs.items()}
    length = every or period_length(max((own.updates for own in tallied.values()), default=1))
    statistics = []
    for name, own in tallied.items():
        everything = HiddenWords.of(own.by.values(), own.updates, length)
        parts = own.by if len(own.by) > 1 else {}
        by = {policy: HiddenWords.of([part], own.updates, length) for policy, part in parts.items()}
        statistics.append(MaskStatistics(name, ", ".join(own.policies), own.updates, length, everything, by))
    return statistics


def period_length(updates: int) -> int:
    """A round number of updates (1, 2, 2.5 or 5 times a power of ten) that makes ten periods or fewer."""
    rounds = (step * 10**power for power in count() for step in (1, 2, 2.5, 5) if step * 10**power % 1 == 0)
    return int(next(length for length in rounds if 10 * length >= updates))


def render_masks(statistics: Sequence[MaskStatistics]) -> str:
    """The tables of all runs side by side, for people."""
    tables = mask_tables(statistics)
    parts = [f"{name}\n" + "\n".join(align_records(rows)) for name, rows in tables.items() if rows]
    about = "blind: what a choice of as many places of each row by chance would give; of all: all words of these rows"
    return "\n\n".join([*parts, about])


def mask_tables(statistics: Sequence[MaskStatistics]) -> dict[str, list[CsvRow]]:
    """Three tables: an overview, the density ratio by period, parts of speech. A mixture is split by policy, too."""
    tables: dict[str, list[CsvRow]] = {"overview": [], "periods": [], "parts-of-speech": []}
    for run in statistics:
        for by, group in run.groups.items():
            head = {"run": run.run, "by": run.policy if by == EVERYTHING else by}
            counts = {"updates": run.updates, "rows": group.rows, "words": group.words, "hidden": group.hidden}
            of_hidden = {**_figures("density_ratio", group.density_ratio), **_figures("unseen", group.unseen)}
            tables["overview"].append({**head, **counts, **of_hidden})
            for period in group.periods:
                place = {"first": period.first, "last": period.last, "hidden": period.hidden}
                tables["periods"].append({**head, **place, **_figures("density_ratio", period.density_ratio)})
            for part, share in (group.parts_of_speech or {}).items():
                tables["parts-of-speech"].append({**head, "part": part, **_figures("share", share)})
    return tables


def _figures(name: str, compared: Compared | None) -> dict[str, float | None]:
    """The value for the hidden words, for all, and for those that a blind choice would hide."""
    hidden, overall, blind = (None, None, None) if compared is None else asdict(compared).values()
    return {name: hidden, f"{name}_of_all": overall, f"{name}_blind": blind}
