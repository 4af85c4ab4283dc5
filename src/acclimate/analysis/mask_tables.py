"""What masking policies hide, side by side: curves and means by policy, tables to print, and rows for CSV files.

Several runs of one policy count as seeds: their mean, and how far they lie apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.analysis.masks import EVERYTHING, OTHERS, PARTS_OF_SPEECH, Compared, HiddenWords, MaskStatistics, Period
from acclimate.data.problems import InputError
from acclimate.data.writers.shared import CsvRow
from acclimate.evaluation.table import Row, align

ALL_WORDS = "all words"
UNKNOWN = "-"
_PARTS = (*PARTS_OF_SPEECH, OTHERS)
_PERIODS_ACROSS = 10  # more do not fit on a screen


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
    curves = [_curve(name, runs, lambda ratio: ratio.hidden) for name, runs in groups.items()]
    return [*curves, _curve(ALL_WORDS, [run.everything for run in statistics], lambda ratio: ratio.overall)]


def _curve(name: str, runs: Sequence[HiddenWords], side: Callable[[Compared], float]) -> Curve:
    """Runs may be of different length: a period is the mean of those that reach it."""
    points = []
    longest: tuple[Period, ...] = max((run.periods for run in runs), key=len, default=())
    for number, period in enumerate(longest):
        ratios = [run.periods[number].density_ratio for run in runs if number < len(run.periods)]
        values = [side(ratio) for ratio in ratios if ratio is not None]
        mean = sum(values) / len(values) if values else None
        points.append(CurvePoint(period.first, period.last, mean, min(values, default=None), max(values, default=None)))
    return Curve(name, len(runs), tuple(points))


def mean_part_of_speech_shares(
    statistics: Sequence[MaskStatistics], *, split: bool = False
) -> dict[str, dict[str, float]]:
    """Shares of the parts of speech among the hidden words of each policy, and, first, among all words."""
    groups = {ALL_WORDS: [run.everything for run in statistics], **by_policy(statistics, split=split)}
    means: dict[str, dict[str, float]] = {}
    for name, runs in groups.items():
        tagged = [run.parts_of_speech for run in runs if run.parts_of_speech is not None]
        side = "overall" if name == ALL_WORDS else "hidden"
        if tagged:
            means[name] = {part: sum(getattr(own[part], side) for own in tagged) / len(tagged) for part in _PARTS}
    return means


def policies_as_dict(statistics: Sequence[MaskStatistics]) -> dict[str, Any]:
    """Curves and parts of speech by policy, in plain JSON types."""
    curves = [asdict(curve) for curve in density_curves(statistics)]
    return {"density_ratio": curves, "parts_of_speech": mean_part_of_speech_shares(statistics)}


def by_policy(statistics: Iterable[MaskStatistics], *, split: bool = False) -> dict[str, list[HiddenWords]]:
    """The runs of each policy; with `split` a mixture falls into its parts."""
    groups: dict[str, list[HiddenWords]] = {}
    for run in statistics:
        parts = {f"{run.policy}, by {by}": part for by, part in run.by.items()} if split else {}
        for name, hidden in (parts or {run.policy: run.everything}).items():
            groups.setdefault(name, []).append(hidden)
    return groups


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
