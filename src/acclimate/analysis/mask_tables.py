"""The masks of several runs: as text that people read, and as flat rows for CSV files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acclimate.analysis.mask_log import Compared
from acclimate.analysis.mask_statistics import (
    ALL_WORDS,
    EVERYTHING,
    OTHERS,
    PARTS_OF_SPEECH,
    HiddenWords,
    MaskStatistics,
)
from acclimate.data.writers.shared import CsvRow
from acclimate.evaluation.table import Row, align

UNKNOWN = "-"
_PERIODS_ACROSS = 10


def render_masks(statistics: Sequence[MaskStatistics]) -> str:
    """All runs side by side: an overview, the periods, the parts of speech, the most over-hidden words."""
    parts = [_overview(statistics), *_periods(statistics), _parts_of_speech(statistics), _over_hidden(statistics)]
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


def _periods(statistics: Sequence[MaskStatistics]) -> Iterator[list[str]]:
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
