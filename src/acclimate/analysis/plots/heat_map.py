"""The overlap of vocabularies as a table of coloured cells (mlm4uda's Figure 2)."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from acclimate.analysis.domain_distance import Overlap
from acclimate.analysis.plots.canvas import INK, new_sheet, widest, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CELL = 0.72  # inches
_DARK = 0.65  # of the scale: from here on white figures read better


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
            is_dark = row != column and value > _DARK * highest
            colour = "white" if is_dark else INK
            axes.text(column, row, f"{value:.1f}", ha="center", va="center", color=colour, fontsize=9)
    axes.set_facecolor("#EFEFEF")
    axes.set_xticks(range(size), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(size), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if pairs:
        figure.colorbar(image, ax=axes, shrink=0.8, label="shared words (%)")
    return figure
