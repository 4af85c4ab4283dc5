"""Rows against others, as lines of a page and of a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acclimate.comparison.tables import markdown_table
from acclimate.reproduction.results import PAPER, Reproduction
from acclimate.reproduction.table import Number

SAME = "same training: what a GPU's rounding does"
_TOLD = "Paired bootstrap over test sentences, all seeds of a sentence together; p after Holm's correction."
_MEAN = "mean of columns"


@dataclass(frozen=True)
class _MeanChange:
    """Of a row, over the columns in which a test was made."""

    row: str
    other: str
    change: float
    paper: Number | None


def change_lines(found: Reproduction) -> list[str]:
    """A section of the page; nothing where no rows are compared."""
    if not found.gains:
        return []
    rows = [["", "against", "change", "95 % interval", "p (Holm)", PAPER]]
    for gain in found.gains:
        one = gain.found
        interval = f"{100 * one.low:+.2f} to {100 * one.high:+.2f}"
        sure = [interval, f"{gain.p_holm:.3f}"] if gain.p_holm is not None else ["", SAME]
        change = f"{100 * one.difference:+.2f}"
        rows.append([f"{gain.row}, {gain.column}", gain.other, change, *sure, _printed(gain.paper)])
    for mean in _means(found):
        rows.append([f"{mean.row}, {_MEAN}", mean.other, f"{mean.change:+.2f}", "", "", _printed(mean.paper)])
    return ["", "## Changes", "", _TOLD, "", *markdown_table(rows)]


def change_rows(found: Reproduction) -> list[dict[str, object]]:
    """The same for a spreadsheet, in the columns that figures have."""
    made = []
    for gain in found.gains:
        one = gain.found
        told = _row(found, gain.row, gain.column, gain.other, 100 * one.difference, gain.paper)
        made.append({**told, "measure": f"change of {one.metric}", "runs": one.seeds})
    means = [_row(found, mean.row, _MEAN, mean.other, mean.change, mean.paper) for mean in _means(found)]
    return made + means


def _row(
    found: Reproduction, row: str, column: str, other: str, change: float, paper: Number | None
) -> dict[str, object]:
    return {
        "table": found.table.id,
        "scale": found.scale,
        "row": row,
        "column": column,
        "measure": "change",
        "figure": f"against {other}",
        "mean": change,
        "std": None,
        "runs": len(found.seeds),
        "values": "",
        "paper": paper,
    }


def _means(found: Reproduction) -> Iterator[_MeanChange]:
    by_row: dict[str, list[float]] = {}
    for gain in found.gains:
        if gain.p_holm is not None:
            by_row.setdefault(gain.row, []).append(100 * gain.found.difference)
    for row, values in by_row.items():
        if len(values) > 1:
            paper = found.table.published_gains.get(row, {}).get("mean")
            assert not isinstance(paper, dict)
            yield _MeanChange(row, found.table.against[row], sum(values) / len(values), paper)


def _printed(paper: Number | None) -> str:
    return "" if paper is None else str(paper)
