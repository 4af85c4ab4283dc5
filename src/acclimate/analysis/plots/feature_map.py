"""Features of several corpora on a flat map, a colour and a mark per corpus (DATNet's Figure 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acclimate.analysis.plots.canvas import COLOURS, add_legend, new_sheet, widest, wrapped
from acclimate.data.problems import InputError
from acclimate.evaluation.table import count

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from acclimate.analysis.features import Separability

_MARKS = "o^sDvPX*"  # besides the colour: for print in grey, and for eyes that see fewer colours
_LAYERS = 8
_PALE = "#C8C8C8"


def draw_feature_map(
    places: NDArray[np.float32],
    domains: Sequence[str],
    separability: Separability | None = None,
    title: str = "Features by corpus",
) -> Figure:
    """A point per word or sentence. The axes have no unit: only who is whose neighbour means anything.

    Corpora are drawn in turns, a layer each, or the last one would cover the others.
    """
    if len(places) != len(domains) or not len(domains):
        raise InputError(f"there are {len(places)} places for {len(domains)} points; a map needs one for each.")
    names = list(dict.fromkeys(domains))
    own = {name: places[[domain == name for domain in domains]] for name in names}
    legend = [f"{wrapped(name)}\n({count(len(own[name]), 'point')})" for name in names]
    figure, axes = new_sheet(title, 6.0 + widest(legend), 5.6)
    if separability is not None:
        axes.set_title(told(separability), loc="left", fontsize=9)
    size = min(36.0, max(8.0, 12_000 / len(domains)))
    for layer in range(_LAYERS):
        for number, name in enumerate(names):
            part = own[name][layer::_LAYERS]
            axes.scatter(part[:, 0], part[:, 1], s=size, alpha=0.6, linewidths=0, **_mark(number))
    handles = [axes.scatter([], [], s=36, linewidths=0, **_mark(number)) for number in range(len(names))]
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set(visible=True, color=_PALE)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("t-SNE: near points are alike, far ones need not be unlike", fontsize=9)
    add_legend(figure, handles, legend)
    return figure


def told(separability: Separability) -> str:
    """The number in words."""
    return (
        f"A linear classifier tells them apart with accuracy {separability.accuracy:.3f} (chance: 0.5).\n"
        f"Proxy A-distance {separability.a_distance:.2f} (0: alike, 2: apart)."
    )


def _mark(number: int) -> dict[str, Any]:
    again = number // len(COLOURS)  # the ninth has the first colour, and another mark
    return {"color": COLOURS[number % len(COLOURS)], "marker": _MARKS[(number + again) % len(_MARKS)]}
