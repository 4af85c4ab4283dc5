"""What a masking policy hides: words of the target, words of which part of speech, unseen words, entities.

mlm4uda, Figure 3 and Table 4. Every figure of the hidden words stands beside the same figure of all words in the same
rows, and beside what a blind choice would give: one that draws as many places of each row by chance. Where the places
are pieces, these are not the same, for a word of several pieces is hidden more often. Several runs of one policy count
as seeds: their mean, and how far they lie apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

from acclimate.analysis.mask_log import Compared, Counts, MaskedRow, Yardsticks, count_rows
from acclimate.data.problems import InputError
from acclimate.data.writers.shared import CsvRow
from acclimate.evaluation.table import Row, align

PARTS_OF_SPEECH = ("ADJ", "VERB", "NOUN", "PROPN", "PRON", "ADV")
OTHERS = "others"
EVERYTHING = "all"
_NOISE = 1e-9  # of sums of fractions
SMOOTHING = 10.0  # a word counts as if it had also been seen so often, and hidden at the average rate


@dataclass(frozen=True, slots=True)
class Period:
    """Some updates in a row. Without a hidden word in them, or without two corpora to compare, there is no ratio."""

    first: int
    last: int
    hidden: int
    density_ratio: Compared | None


@dataclass(frozen=True, slots=True)
class OverHidden:
    """A word that was hidden more often than by chance. `lift` 2 means twice as often, smoothed."""

    word: str
    lift: float
    hidden: int
    occurrences: int


@dataclass(frozen=True, slots=True)
class HiddenWords:
    """The hidden words of some rows. A figure is None where its yardstick was not given, or found nothing."""

    rows: int
    words: int
    hidden: int
    density_ratio: Compared | None
    periods: tuple[Period, ...]
    unseen: Compared | None  # share of words that the source does not have
    in_entities: Compared | None  # share of words inside entities, in the rows that were found in the gold corpus
    looked_up: int  # how many rows those are
    parts_of_speech: Mapping[str, Compared] | None
    over_hidden: tuple[OverHidden, ...]


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
    most: int = 20,
    progress: Callable[[int], None] | None = None,
) -> list[MaskStatistics]:
    """What each run hid. Rows are read once, one after the other: `mask_statistics({"a": read_masks("runs/a")})`.

    `every` is the length of a period in updates; without it the longest run has about ten, and all runs the same.
    `most` over-hidden words are named. `progress` hears how many rows were read.
    """
    if every is not None and every < 1:
        raise InputError(f"a period needs one update at least, not {every}.")
    measures = yardsticks or Yardsticks()
    counted = {name: count_rows(rows, measures, progress) for name, rows in runs.items()}
    length = every or period_length(max((found.updates for found in counted.values()), default=1))
    return [
        MaskStatistics(
            run=name,
            policy=", ".join(found.policies),
            updates=found.updates,
            every=length,
            everything=describe(found.everything, found.updates, length, most),
            by={by: describe(part, found.updates, length, most) for by, part in found.by.items()}
            if len(found.by) > 1
            else {},
        )
        for name, found in counted.items()
    ]


def describe(counts: Counts, updates: int, every: int, most: int = 20) -> HiddenWords:
    """Counts as figures."""
    return HiddenWords(
        rows=counts.rows,
        words=counts.words.total(),
        hidden=counts.hidden.total(),
        density_ratio=counts.density_ratio,
        periods=tuple(_periods(counts, updates, every)),
        unseen=counts.unseen.compared,
        in_entities=counts.in_entities.compared,
        looked_up=counts.looked_up,
        parts_of_speech=part_of_speech_shares(counts.hidden_tags, counts.tags, counts.blind_tags)
        if counts.tags
        else None,
        over_hidden=tuple(over_hidden(counts.hidden, counts.words, counts.blind, most)),
    )


def period_length(updates: int) -> int:
    """A round number of updates (1, 2, 2.5 or 5 times a power of ten) that makes ten periods or fewer."""
    rounds = (step * 10**power for power in count() for step in (1, 2, 2.5, 5) if step * 10**power % 1 == 0)
    return int(next(length for length in rounds if 10 * length >= updates))


def part_of_speech_shares(
    hidden: Mapping[str, float], overall: Mapping[str, float], blind: Mapping[str, float]
) -> dict[str, Compared]:
    """Shares of the parts of speech of Table 4, and of PROPN, which the paper counts among the others."""
    return {
        part: Compared(*(_share(counts, part) for counts in (hidden, overall, blind)))
        for part in (*PARTS_OF_SPEECH, OTHERS)
    }


def over_hidden(
    hidden: Counter[str], overall: Counter[str], blind: Mapping[str, float], most: int = 20
) -> list[OverHidden]:
    """The words that were hidden most often, measured by how often a blind choice would have hidden them.

    A word seen twice and hidden twice says little, so each is also given `SMOOTHING` occurrences that were hidden at
    the average rate.
    """
    usual = SMOOTHING * hidden.total() / max(1, overall.total())
    found = []
    for word, times in hidden.items():
        lift = (times + usual) / (blind[word] + usual)
        if lift > 1 + _NOISE:
            found.append(OverHidden(word, lift, times, overall[word]))
    return sorted(found, key=lambda item: (-item.lift, -item.hidden, item.word))[:most]


def _share(counts: Mapping[str, float], part: str) -> float:
    total = sum(counts.values())
    named = counts.get(part, 0) if part != OTHERS else total - sum(counts.get(name, 0) for name in PARTS_OF_SPEECH)
    return named / total if total else 0.0


def _periods(counts: Counts, updates: int, every: int) -> Iterator[Period]:
    """All periods from the first update on: one in which nothing was logged is there, and empty."""
    groups: dict[int, list[int]] = {}
    for update in sorted(counts.hidden_by_update.keys() | counts.ratios_by_update.keys()):
        groups.setdefault(max(update - 1, 0) // every, []).append(update)
    for number in range(-(-updates // every)):
        yield _period(counts, groups.get(number, ()), number * every + 1, (number + 1) * every)


def _period(counts: Counts, inside: Sequence[int], first: int, last: int) -> Period:
    hidden = sum(counts.hidden_by_update[update] for update in inside)
    return Period(first, last, hidden, counts.density_ratio_of(inside))


ALL_WORDS = "all words"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One period: the mean over the runs, the lowest and the highest. None where no run hid anything."""

    first: int
    last: int
    mean: float | None
    lowest: float | None
    highest: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """The density ratio over training, of one policy."""

    name: str
    runs: int
    points: tuple[CurvePoint, ...]


def density_curves(statistics: Sequence[MaskStatistics], *, split: bool = False) -> list[Curve]:
    """A curve of the hidden words for each policy, and one of all words of the same rows, which comes last.

    `split` draws mixtures apart by the policy that chose the row.
    """
    if len({run.every for run in statistics}) > 1:
        raise InputError("these runs have periods of different lengths; read them together, or with the same `every`.")
    groups = by_policy(statistics, split=split)
    curves = [_curve(name, runs, lambda found: found.hidden) for name, runs in groups.items()]
    return [*curves, _curve(ALL_WORDS, [run.everything for run in statistics], lambda found: found.overall)]


def mean_part_of_speech_shares(
    statistics: Sequence[MaskStatistics], *, split: bool = False
) -> dict[str, dict[str, float]]:
    """Shares of the parts of speech among the hidden words of each policy, and, first, among all words."""
    parts = (*PARTS_OF_SPEECH, OTHERS)
    groups = {ALL_WORDS: [run.everything for run in statistics], **by_policy(statistics, split=split)}
    shares: dict[str, dict[str, float]] = {}
    for name, runs in groups.items():
        tagged = [run.parts_of_speech for run in runs if run.parts_of_speech is not None]
        side = "overall" if name == ALL_WORDS else "hidden"
        if tagged:
            shares[name] = {part: sum(getattr(found[part], side) for found in tagged) / len(tagged) for part in parts}
    return shares


def policies_as_dict(statistics: Sequence[MaskStatistics]) -> dict[str, Any]:
    """Curves and parts of speech by policy, in plain JSON types."""
    curves = [asdict(curve) for curve in density_curves(statistics)]
    return {"density_ratio": curves, "parts_of_speech": mean_part_of_speech_shares(statistics)}


def by_policy(statistics: Iterable[MaskStatistics], *, split: bool = False) -> dict[str, list[HiddenWords]]:
    """The runs of each policy; with `split` a mixture falls into its parts."""
    groups: dict[str, list[HiddenWords]] = {}
    for run in statistics:
        parts = {f"{run.policy}, by {by}": part for by, part in run.by.items()} if split and run.by else {}
        for name, hidden in (parts or {run.policy: run.everything}).items():
            groups.setdefault(name, []).append(hidden)
    return groups


def _curve(name: str, runs: Sequence[HiddenWords], side: Callable[[Any], float]) -> Curve:
    """Runs may be of different length: a period is the mean of those that reach it."""
    longest = max((run.periods for run in runs), key=len, default=())
    points = []
    for number, period in enumerate(longest):
        reached = [run.periods[number].density_ratio for run in runs if number < len(run.periods)]
        values = [side(found) for found in reached if found is not None]
        mean = sum(values) / len(values) if values else None
        points.append(CurvePoint(period.first, period.last, mean, min(values, default=None), max(values, default=None)))
    return Curve(name, len(runs), tuple(points))


UNKNOWN = "-"
_PERIODS_ACROSS = 10


def render_masks(statistics: Sequence[MaskStatistics]) -> str:
    """All runs side by side: an overview, the periods, the parts of speech, the most over-hidden words."""
    parts = [_overview(statistics), *_period_tables(statistics), _parts_of_speech(statistics), _over_hidden(statistics)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _overview(statistics: Sequence[MaskStatistics]) -> list[str]:
    table: list[Row] = [("", "policy", "updates", "rows", "hidden", "density ratio", "% unseen", "% in entities")]
    for name, run, group in _groups(statistics):
        figures = (
            _beside(group.density_ratio, 1, 3),
            _beside(group.unseen, 100, 1),
            _beside(group.in_entities, 100, 1),
        )
        policy = run.policy if group is run.everything else ""
        table.append((name, policy, f"{run.updates:,}", f"{group.rows:,}", f"{group.hidden:,}", *figures))
    lines = [*align(table), "in brackets: what a blind choice of as many places of each row would give"]
    found = {run.run: run.everything.looked_up for run in statistics if run.everything.looked_up}
    looked_up = ", ".join(f"{rows:,} of {run}" for run, rows in found.items())
    return [*lines, f"rows found in the gold corpora: {looked_up}"] if found else lines


def _period_tables(statistics: Sequence[MaskStatistics]) -> Iterator[list[str]]:
    """Ten periods to a table: more of them do not fit on a screen."""
    if all(run.everything.density_ratio is None for run in statistics):
        return
    longest = max((run.everything.periods for run in statistics), key=len)
    for start in range(0, len(longest), _PERIODS_ACROSS):
        shown = range(start, min(start + _PERIODS_ACROSS, len(longest)))
        table: list[Row] = [("", *(f"{longest[number].last:,}" for number in shown))]
        for name, _, group in _groups(statistics):
            table.append((name, *(_ratio_of(group, number) for number in shown)))
        yield ["density ratio of the hidden words, up to update", *align(table)]


def _parts_of_speech(statistics: Sequence[MaskStatistics]) -> list[str]:
    names = (*PARTS_OF_SPEECH, OTHERS)
    table: list[Row] = [("", *names)]
    for name, run, group in _groups(statistics):
        shares = group.parts_of_speech
        if shares is not None:
            table.append((name, *(f"{100 * shares[part].hidden:.1f}" for part in names)))
            if group is run.everything:
                table.append(("  a blind choice", *(f"{100 * shares[part].blind:.1f}" for part in names)))
                table.append((f"  {ALL_WORDS}", *(f"{100 * shares[part].overall:.1f}" for part in names)))
    return ["parts of speech of the hidden words (%)", *align(table)] if len(table) > 1 else []


def _over_hidden(statistics: Sequence[MaskStatistics]) -> list[str]:
    lines = []
    for name, _, group in _groups(statistics):
        words = [f"{item.word} x{item.lift:.1f} ({item.hidden:,}/{item.occurrences:,})" for item in group.over_hidden]
        lines += [f"  {name.strip()}: {', '.join(words)}"] if words else []
    head = "hidden more often than by a blind choice: how many times, smoothed (hidden/occurrences)"
    return [head, *lines] if lines else []


def _groups(statistics: Sequence[MaskStatistics]) -> Iterator[tuple[str, MaskStatistics, HiddenWords]]:
    """Every run, and below it the parts of a mixture."""
    for run in statistics:
        for by, group in run.groups.items():
            yield run.run if by == EVERYTHING else f"  {run.run}, by {by}", run, group


def _ratio_of(group: HiddenWords, number: int) -> str:
    found = group.periods[number].density_ratio if number < len(group.periods) else None
    return UNKNOWN if found is None else f"{found.hidden:.3f}"


def _beside(found: Compared | None, factor: int, digits: int) -> str:
    if found is None:
        return UNKNOWN
    return f"{factor * found.hidden:.{digits}f} ({factor * found.blind:.{digits}f})"


def mask_tables(statistics: Sequence[MaskStatistics]) -> dict[str, list[CsvRow]]:
    """Four tables: an overview, the periods, the parts of speech, the most over-hidden words."""
    return {
        "overview": [{**head, **_overview_row(group)} for head, group in _table_groups(statistics)],
        "periods": [
            {**head, "first": period.first, "last": period.last, "hidden": period.hidden}
            | _figures("density_ratio", period.density_ratio)
            for head, group in _table_groups(statistics)
            for period in group.periods
        ],
        "parts-of-speech": [
            {**head, "part": part, **_figures("share", share)}
            for head, group in _table_groups(statistics)
            for part, share in (group.parts_of_speech or {}).items()
        ],
        "over-hidden": [
            {**head, "word": item.word, "lift": item.lift, "hidden": item.hidden, "occurrences": item.occurrences}
            for head, group in _table_groups(statistics)
            for item in group.over_hidden
        ],
    }


def _table_groups(statistics: Sequence[MaskStatistics]) -> Iterator[tuple[CsvRow, HiddenWords]]:
    for run in statistics:
        for by, group in run.groups.items():
            yield {"run": run.run, "policy": run.policy, "by": by}, group


def _overview_row(group: HiddenWords) -> CsvRow:
    return {
        "rows": group.rows,
        "words": group.words,
        "hidden": group.hidden,
        **_figures("density_ratio", group.density_ratio),
        **_figures("unseen", group.unseen),
        **_figures("in_entities", group.in_entities),
        "looked_up": group.looked_up,
    }


def _figures(name: str, found: Compared | None) -> dict[str, float | None]:
    """Of the hidden words, of all, and of those that a blind choice would hide."""
    hidden, overall, blind = (None, None, None) if found is None else (found.hidden, found.overall, found.blind)
    return {name: hidden, f"{name}_of_all": overall, f"{name}_blind": blind}
