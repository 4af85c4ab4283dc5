"""What a masking policy hides: words of the target, words of which part of speech, unseen words.

mlm4uda, Figure 3 and Table 4. Domain tuning logs masks to `records.jsonl` as `{"kind": "masks", "update": …, "policy":
…, "rows": [{"words": […], "hidden": […], "places": […], "drawn": …, "by": …}, …]}`. Every figure of the hidden words
stands beside the same figure of all words in the same rows, and beside that of a blind choice: one that draws as many
places of each row by chance. Where the places are pieces, a word of several pieces is hidden more often by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from itertools import count, islice
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from acclimate.analysis.run_records import read_records, record_files
from acclimate.analysis.text_comparison import DensityRatio
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.writers.shared import CsvRow
from acclimate.evaluation.seen import Vocabulary
from acclimate.evaluation.table import Row, align

if TYPE_CHECKING:
    from acclimate.inference.part_of_speech import PartOfSpeechTagger

Words = tuple[str, ...]
PARTS_OF_SPEECH = ("ADJ", "VERB", "NOUN", "PROPN", "PRON", "ADV")
OTHERS = "others"
EVERYTHING = "all"
ROWS_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class MaskedRow:
    """One sentence of one update. `by` is the policy that chose its hidden words, which in a mixture may be either."""

    update: int
    policy: str
    words: Words
    hidden: tuple[int, ...]  # numbers of words
    by: str
    places: tuple[int, ...] | None = None  # how many places of each word can be drawn: its pieces; None: 1 for all
    drawn: int = 0  # places of the row that were drawn, where `places` is known

    @property
    def chances(self) -> list[float]:
        """How likely a blind choice of as many places hides each word, at least in part."""
        places = self.places if self.places is not None else (1,) * len(self.words)
        drawn = self.drawn if self.places is not None else len(self.hidden)
        total = sum(places)
        known = {number: chance_to_be_drawn(number, drawn, total) for number in set(places)}
        return [known[number] for number in places]

    @property
    def hidden_words(self) -> Words:
        return tuple(self.words[number] for number in self.hidden)


def chance_to_be_drawn(own: int, drawn: int, total: int) -> float:
    """The probability that `drawn` of `total` places include at least one of `own` places."""
    missed = 1.0
    for number in range(own):
        missed *= max(0, total - drawn - number) / (total - number)
    return 1 - missed


def read_masks(place: str | Path) -> Iterator[MaskedRow]:
    """The masked rows of a run folder, or of one `records.jsonl`, in the order of the log."""
    is_empty = True
    for file in record_files(place):
        for number, entry in read_records(file, lambda line: b'"masks"' in line):  # most lines are losses
            if entry.get("kind") == "masks":
                try:
                    update, policy = int(entry["update"]), str(entry["policy"])
                    for row in entry["rows"]:
                        yield _row(update, policy, row)
                        is_empty = False
                except (KeyError, TypeError, ValueError) as error:
                    needs = "update, policy, and rows of words, hidden and by"
                    problem = f"an entry of masks needs {needs}; wrong here: {error}."
                    raise InputError(problem, file=file, line=number) from None
    if is_empty:
        raise InputError(
            "no masks are logged here. Name the folder of a run whose recipe hides words and logs which ones.",
            file=place,
        )


def _row(update: int, policy: str, row: Mapping[str, Any]) -> MaskedRow:
    words = row["words"]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"words {words!r}")
    hidden = sorted({int(number) for number in row["hidden"]})  # a word in several pieces is still hidden once
    if hidden and not 0 <= hidden[0] <= hidden[-1] < len(words):
        raise ValueError(f"hidden {row['hidden']} of {len(words)} words")
    masked = MaskedRow(update, policy, tuple(words), tuple(hidden), str(row.get("by") or policy))
    if "places" not in row:
        return masked
    places, drawn = tuple(map(int, row["places"])), int(row["drawn"])
    if len(places) != len(words) or min(places, default=0) < 0 or not bool(hidden) <= drawn <= sum(places):
        raise ValueError(f"places {row['places']} of {len(words)} words, of which {drawn} were drawn")
    return MaskedRow(update, policy, masked.words, masked.hidden, masked.by, places, drawn)


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
    def tag_cache(self) -> TagCache | None:
        return None if self.tagger is None else TagCache(self.tagger)


class TagCache:
    """The parts of speech of sentences, each tagged once: a log shows the same ones in every epoch."""

    def __init__(self, tagger: PartOfSpeechTagger, most: int = 100_000) -> None:
        self.tagger, self.most = tagger, most
        self._tags: dict[Words, Words] = {}

    def tags_of(self, sentences: Sequence[Words]) -> list[Words]:
        if len(self._tags) > self.most:
            self._tags.clear()  # or it would grow to the size of the corpus
        new = dict.fromkeys(words for words in sentences if words and words not in self._tags)
        if new:
            tagged = self.tagger.tag(Corpus.of(map(Sentence, new)))
            self._tags.update((sentence.words, sentence.tags or ()) for sentence in tagged)
        return [self._tags[words] if words else () for words in sentences]


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
        return _added(self, other)

    @property
    def compared(self) -> Compared | None:
        """The means; None where nothing was hidden."""
        if not self.hidden_count:
            return None
        means = (self.hidden / self.hidden_count, self.overall / self.overall_count, self.blind / self.blind_count)
        return Compared(*means)


class SumsByUpdate(dict[int, Sums]):
    """Sums of the rows of each update."""

    def __add__(self, other: SumsByUpdate) -> SumsByUpdate:
        updates = self.keys() | other.keys()
        return SumsByUpdate({update: self.get(update, Sums()) + other.get(update, Sums()) for update in updates})

    def over(self, updates: Iterable[int]) -> Compared | None:
        return sum((self[update] for update in updates if update in self), Sums()).compared


@dataclass
class Counts:
    """Everything that is counted over some rows. `blind_tags`: how often chance would have hidden each."""

    rows: int = 0
    words: int = 0
    hidden_by_update: Counter[int] = field(default_factory=Counter)
    ratios: SumsByUpdate = field(default_factory=SumsByUpdate)
    unseen: Sums = field(default_factory=Sums)
    tags: Counter[str] = field(default_factory=Counter)
    hidden_tags: Counter[str] = field(default_factory=Counter)
    blind_tags: Counter[str] = field(default_factory=Counter)

    def add(self, row: MaskedRow, tags: Sequence[str] | None, yardsticks: Yardsticks) -> None:
        """One more row, with its parts of speech where a tagger gave them."""
        chances = row.chances
        self.rows += 1
        self.words += len(row.words)
        self.hidden_by_update[row.update] += len(row.hidden)
        if tags is not None:
            self.tags.update(tags)
            self.hidden_tags.update(tags[number] for number in row.hidden)
            for tag, chance in zip(tags, chances, strict=True):
                self.blind_tags[tag] += chance  # type: ignore[assignment]  # a counter of fractions
        ratio, known = yardsticks.density_ratio, yardsticks.known
        if ratio is not None:
            sums = self.ratios.setdefault(row.update, Sums())
            sums.add([ratio(word) for word in row.words], row.hidden, chances)
        if known is not None:
            self.unseen.add([not known.has_word(word) for word in row.words], row.hidden, chances)

    def __add__(self, other: Counts) -> Counts:
        return _added(self, other)


Summed = TypeVar("Summed", Sums, Counts)


def _added(one: Summed, other: Summed) -> Summed:
    return type(one)(*(getattr(one, part.name) + getattr(other, part.name) for part in fields(one)))


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
    """Count the rows of one run, a few hundred at a time."""
    counts, cache = RunCounts(), yardsticks.tag_cache
    waiting = iter(rows)
    while some := list(islice(waiting, ROWS_AT_ONCE)):
        tags = [None] * len(some) if cache is None else cache.tags_of([row.words for row in some])
        for row, own in zip(some, tags, strict=True):
            counts.by.setdefault(row.by, Counts()).add(row, own, yardsticks)
            counts.policies[row.policy] = None
            counts.updates = max(counts.updates, row.update)
        if progress is not None:
            progress(len(some))
    return counts


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
    def of(cls, counts: Counts, updates: int, every: int) -> HiddenWords:
        tagged = (counts.hidden_tags, counts.tags, counts.blind_tags)
        return cls(
            rows=counts.rows,
            words=counts.words,
            hidden=counts.hidden_by_update.total(),
            density_ratio=counts.ratios.over(counts.ratios),
            periods=tuple(_periods(counts, updates, every)),
            unseen=counts.unseen.compared,
            parts_of_speech=part_of_speech_shares(*tagged) if counts.tags else None,
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
    counted = {name: count_rows(rows, yardsticks or Yardsticks(), progress) for name, rows in runs.items()}
    length = every or period_length(max((counts.updates for counts in counted.values()), default=1))
    statistics = []
    for name, counts in counted.items():
        parts = counts.by if len(counts.by) > 1 else {}
        everything = HiddenWords.of(counts.everything, counts.updates, length)
        by = {policy: HiddenWords.of(part, counts.updates, length) for policy, part in parts.items()}
        statistics.append(MaskStatistics(name, ", ".join(counts.policies), counts.updates, length, everything, by))
    return statistics


def period_length(updates: int) -> int:
    """A round number of updates (1, 2, 2.5 or 5 times a power of ten) that makes ten periods or fewer."""
    rounds = (step * 10**power for power in count() for step in (1, 2, 2.5, 5) if step * 10**power % 1 == 0)
    return int(next(length for length in rounds if 10 * length >= updates))


def part_of_speech_shares(*counts: Mapping[str, float]) -> dict[str, Compared]:
    """Shares among hidden, all and blindly chosen words: those of Table 4, and PROPN, which the paper counts among the
    others."""
    names = (*PARTS_OF_SPEECH, OTHERS)
    return {part: Compared(*(_share(own, part) for own in counts)) for part in names}


def _share(counts: Mapping[str, float], part: str) -> float:
    total = sum(counts.values())
    named = counts.get(part, 0) if part != OTHERS else total - sum(counts.get(name, 0) for name in PARTS_OF_SPEECH)
    return named / total if total else 0.0


def _periods(counts: Counts, updates: int, every: int) -> Iterator[Period]:
    """All periods from the first update on: one in which nothing was logged is there, and empty."""
    groups: dict[int, list[int]] = {}
    for update in sorted(counts.hidden_by_update.keys() | counts.ratios.keys()):
        groups.setdefault(max(update - 1, 0) // every, []).append(update)
    for number in range(-(-updates // every)):
        inside = groups.get(number, [])
        hidden = sum(counts.hidden_by_update[update] for update in inside)
        yield Period(number * every + 1, (number + 1) * every, hidden, counts.ratios.over(inside))


ALL_WORDS = "all words"
UNKNOWN = "-"
_PARTS = (*PARTS_OF_SPEECH, OTHERS)
_PERIODS_ACROSS = 10  # more do not fit on a screen


def render_masks(statistics: Sequence[MaskStatistics]) -> str:
    """All runs side by side: an overview, the periods, the parts of speech."""
    parts = [_overview(statistics), *_period_tables(statistics), _parts_of_speech(statistics)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _groups(statistics: Sequence[MaskStatistics]) -> Iterator[tuple[str, MaskStatistics, HiddenWords]]:
    """Every run, and below it the parts of a mixture."""
    for run in statistics:
        for by, group in run.groups.items():
            yield run.run if by == EVERYTHING else f"  {run.run}, by {by}", run, group


def _overview(statistics: Sequence[MaskStatistics]) -> list[str]:
    table: list[Row] = [("", "policy", "updates", "rows", "hidden", "density ratio", "% unseen")]
    for name, run, group in _groups(statistics):
        figures = [_beside(group.density_ratio, 1, 3), _beside(group.unseen, 100, 1)]
        policy = run.policy if group is run.everything else ""
        table.append((name, policy, f"{run.updates:,}", f"{group.rows:,}", f"{group.hidden:,}", *figures))
    return [*align(table), "in brackets: what a blind choice of as many places of each row would give"]


def _beside(compared: Compared | None, factor: int, digits: int) -> str:
    if compared is None:
        return UNKNOWN
    return f"{factor * compared.hidden:.{digits}f} ({factor * compared.blind:.{digits}f})"


def _period_tables(statistics: Sequence[MaskStatistics]) -> Iterator[list[str]]:
    if all(run.everything.density_ratio is None for run in statistics):
        return
    longest = max((run.everything.periods for run in statistics), key=len)
    for start in range(0, len(longest), _PERIODS_ACROSS):
        shown = slice(start, start + _PERIODS_ACROSS)
        table: list[Row] = [("", *(f"{period.last:,}" for period in longest[shown]))]
        for name, _, group in _groups(statistics):
            ratios = [period.density_ratio for period in group.periods[shown]]
            cells = [UNKNOWN if ratio is None else f"{ratio.hidden:.3f}" for ratio in ratios]
            table.append((name, *cells, *[UNKNOWN] * (len(longest[shown]) - len(cells))))
        yield ["density ratio of the hidden words, up to update", *align(table)]


def _parts_of_speech(statistics: Sequence[MaskStatistics]) -> list[str]:
    table: list[Row] = [("", *_PARTS)]
    for name, run, group in _groups(statistics):
        shares = group.parts_of_speech
        if shares is not None:
            lines = {name: "hidden"}
            if group is run.everything:
                lines |= {"  a blind choice": "blind", f"  {ALL_WORDS}": "overall"}
            for line, side in lines.items():
                table.append((line, *(f"{100 * getattr(shares[part], side):.1f}" for part in _PARTS)))
    return ["parts of speech of the hidden words (%)", *align(table)] if len(table) > 1 else []


def mask_tables(statistics: Sequence[MaskStatistics]) -> dict[str, list[CsvRow]]:
    """Three tables: an overview, the periods, the parts of speech."""
    tables: dict[str, list[CsvRow]] = {"overview": [], "periods": [], "parts-of-speech": []}
    for run in statistics:
        for by, group in run.groups.items():
            head = {"run": run.run, "policy": run.policy, "by": by}
            row: dict[str, Any] = {**head, "rows": group.rows, "words": group.words, "hidden": group.hidden}
            for name in ("density_ratio", "unseen"):
                row |= _figures(name, getattr(group, name))
            tables["overview"].append(row)
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
