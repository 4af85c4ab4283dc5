"""Masks as flat rows, and rows as CSV files that any spreadsheet opens."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from acclimate.analysis.mask_counts import Compared
from acclimate.analysis.mask_statistics import HiddenWords, MaskStatistics
from acclimate.data.writers.saving import encoded, save

Row = Mapping[str, Any]


def write_csv(rows: Sequence[Row], path: str | Path) -> None:
    """A line per row under the names of the first one. What is not known stays empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    save(encoded(text.getvalue()), path)


def write_tables(tables: Mapping[str, Sequence[Row]], folder: str | Path) -> None:
    """One file per table, under its name."""
    for name, rows in tables.items():
        write_csv(rows, Path(folder) / f"{name}.csv")


def mask_tables(statistics: Sequence[MaskStatistics]) -> dict[str, list[Row]]:
    """Four tables: an overview, the periods, the parts of speech, the most over-hidden words."""
    return {
        "overview": [{**head, **_overview(group)} for head, group in _groups(statistics)],
        "periods": [
            {**head, "first": period.first, "last": period.last, "hidden": period.hidden}
            | _figures("density_ratio", period.density_ratio)
            for head, group in _groups(statistics)
            for period in group.periods
        ],
        "parts-of-speech": [
            {**head, "part": part, **_figures("share", share)}
            for head, group in _groups(statistics)
            for part, share in (group.parts_of_speech or {}).items()
        ],
        "over-hidden": [
            {**head, "word": item.word, "lift": item.lift, "hidden": item.hidden, "occurrences": item.occurrences}
            for head, group in _groups(statistics)
            for item in group.over_hidden
        ],
    }


def _groups(statistics: Sequence[MaskStatistics]) -> Iterator[tuple[Row, HiddenWords]]:
    for run in statistics:
        for by, group in run.groups.items():
            yield {"run": run.run, "policy": run.policy, "by": by}, group


def _overview(group: HiddenWords) -> Row:
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
