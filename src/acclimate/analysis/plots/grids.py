"""Analyses that are grids of numbers, as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from acclimate.analysis.grid import Grid
from acclimate.analysis.plots.heat_map import draw_cells
from acclimate.analysis.short_and_long import ShortAndLong
from acclimate.analysis.terms import TermConfidences
from acclimate.data.problems import InputError, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_grid(grid: Grid, title: str | None = None, percent: bool = True) -> Figure:
    """Two settings against each other (MSLM's Figure 4)."""
    times = 100 if percent else 1
    values = [[None if mean is None else times * mean for mean in line] for line in grid.means]
    return draw_cells(
        values,
        [str(value) for value in grid.rows],
        [str(value) for value in grid.columns],
        title or f"{grid.figure} by {grid.row_setting} and {grid.column_setting}",
        meaning=f"{grid.figure} (%)" if percent else grid.figure,
        row_axis=grid.row_setting,
        column_axis=grid.column_setting,
        digits=1 if percent else 2,
    )


def draw_short_and_long(rows: Sequence[ShortAndLong], figure: Literal["exact_match", "f1"] = "exact_match") -> Figure:
    """A row per tagger, short and long sentences beside each other (MSLM's Table 5)."""
    if not rows:
        raise InputError("there is no tagger to draw.")
    name = {"exact_match": "exact match", "f1": "span F1"}[figure]
    length = rows[0].mean_length
    return draw_cells(
        [[100 * getattr(row.short, figure), 100 * getattr(row.long, figure)] for row in rows],
        [row.name for row in rows],
        [f"up to {length:.1f} words", f"over {length:.1f} words"],
        f"{name[0].upper()}{name[1:]} by sentence length",
        meaning=f"{name} (%)",
    )


def draw_term_confidences(found: TermConfidences, title: str = "Confidence in the predicted class") -> Figure:
    """A row per term, a column per tagger (MSLM's Figure 2)."""
    return draw_cells(
        [[seen.confidence for seen in term.taggers] for term in found.terms],
        [f"{shorten(term.term, 30)} ({term.label})" for term in found.terms],
        [tagger.name for tagger in found.taggers],
        title,
        meaning="mean probability of the predicted class",
        digits=2,
        scale=(0, 1),
    )
