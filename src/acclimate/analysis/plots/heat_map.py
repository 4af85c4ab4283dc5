"""Tables of coloured cells: two settings against each other (MSLM's Figure 4), or the overlap of vocabularies
(mlm4uda's Figure 2)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from acclimate.analysis.plots.canvas import INK, LETTER, new_sheet, widest, wrapped
from acclimate.analysis.text_comparison import Overlap
from acclimate.data.problems import InputError, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CELL, _LINE = 0.72, 0.26  # inches: of a cell, and of a row where there are many
_MANY = 12  # rows
_DARK = 0.65  # of the scale: from here on white figures read better


def draw_cells(
    values: Sequence[Sequence[float | None]],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    *,
    meaning: str = "",
    row_axis: str = "",
    column_axis: str = "",
    digits: int = 1,
    scale: tuple[float, float] | None = None,
) -> Figure:
    """A cell for every row and column, its number in it, and coloured by it. What is not known (None) stays grey.

    `meaning` stands beside the scale, the axes' names beside the axes. Without a `scale` the colours reach from the
    lowest to the highest number.
    """
    known = [value for line in values for value in line if value is not None]
    if not known:
        raise InputError("there is no number to draw.")
    if len(values) != len(rows) or any(len(line) != len(columns) for line in values):
        raise ValueError(f"{len(rows)} rows and {len(columns)} columns do not fit the values.")
    low, high = (min(known), max(known)) if scale is None else scale
    are_many = len(rows) > _MANY  # then each has one line
    row_names = [shorten(name, 50) if are_many else wrapped(name) for name in rows]
    column_names = [wrapped(name) for name in columns]
    cell = max(_CELL, LETTER * (2 + max(len(f"{value:.{digits}f}") for value in known)))
    room = widest(row_names) + (0.3 if row_axis else 0)
    height = len(rows) * (_LINE if are_many else _CELL)
    figure, axes = new_sheet(
        title,
        max(4.2, cell * len(columns) + room + 1.6),
        max(2.4, height + 0.75 * widest(column_names) + (1.4 if column_axis else 1.1)),
    )
    shown = [[math.nan if value is None else value for value in line] for line in values]
    image = axes.imshow(shown, cmap="Blues", vmin=low, vmax=high, aspect="auto")
    middle = low + _DARK * (high - low)
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            if value is not None:
                _write(axes, row, column, f"{value:.{digits}f}", value > middle)
    _name_cells(axes, row_names, column_names)
    axes.set_ylabel(row_axis)
    axes.set_xlabel(column_axis)
    figure.colorbar(image, ax=axes, shrink=0.8, label=meaning)
    return figure


def draw_overlap(overlap: Overlap, title: str = "Vocabulary overlap", note: str = "") -> Figure:
    """Every pair of corpora, in percent. A corpus with itself is left grey, or it would take all of the scale.

    `note` says below the title which words were compared.
    """
    names = [wrapped(name) for name in overlap.names]
    size, room = len(names), widest(names)
    head = "\n".join([title, *textwrap.wrap(note, 44)])
    figure, axes = new_sheet(head, max(4.2, _CELL * size + room + 1.6), max(3.0, _CELL * size + 0.75 * room + 1.2))
    pairs = [value for row, values in enumerate(overlap.percents) for value in values[:row]]
    highest = max([*pairs, 1.0])
    shown = [
        [float("nan") if row == column else value for column, value in enumerate(values)]
        for row, values in enumerate(overlap.percents)
    ]
    image = axes.imshow(shown, cmap="Blues", vmin=0, vmax=highest)
    for row, values in enumerate(overlap.percents):
        for column, value in enumerate(values):
            _write(axes, row, column, f"{value:.1f}", row != column and value > _DARK * highest)
    _name_cells(axes, names, names)
    if pairs:
        figure.colorbar(image, ax=axes, shrink=0.8, label="shared words (%)")
    return figure


def _write(axes: Axes, row: int, column: int, text: str, is_dark: bool) -> None:
    axes.text(column, row, text, ha="center", va="center", color="white" if is_dark else INK, fontsize=9)


def _name_cells(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    axes.set_facecolor("#EFEFEF")
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
