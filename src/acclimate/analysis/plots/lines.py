"""The density ratio of hidden words over training, a line per policy (mlm4uda's Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acclimate.analysis.mask_statistics import ALL_WORDS, Curve
from acclimate.analysis.plots.canvas import COLOURS, GREY, add_legend, new_sheet, widest, wrapped
from acclimate.data.problems import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX*"  # besides the colour: for print in grey, and for eyes that see fewer colours
_DASHES = ("-", "--", ":", "-.")
_BANDS = 3  # more of them on top of each other give a colour that is nobody's


def draw_density_ratio(curves: Sequence[Curve], title: str = "Density ratio of the hidden words") -> Figure:
    """Each point is the mean over a period, at its end. Bands, or whiskers where there would be too many bands, reach
    from the lowest to the highest run.

    The curve of all words is drawn in grey. A period in which nothing was hidden is a gap. Whiskers stand a little to
    the left or right of their place, or they would hide each other.
    """
    if not any(point.mean is not None for curve in curves for point in curve.points):
        raise InputError("there is no density ratio to draw: it needs a source and a target corpus.")
    names = [_name(curve) for curve in curves]
    figure, axes = new_sheet(
        title, 6.6 + widest(names), max(4.0, 0.6 + 0.32 * sum(name.count("\n") + 1 for name in names))
    )
    policies = [curve.name for curve in curves if curve.name != ALL_WORDS]
    handles = [_draw(axes, curve, policies) for curve in curves]
    axes.set_xlabel(f"updates{_explained(curves, len(policies))}")
    axes.set_ylabel("mean density ratio (0 to 1)")
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", color="#E4E4E4")
    add_legend(figure, handles, names)
    return figure


def _draw(axes: Axes, curve: Curve, policies: Sequence[str]) -> Any:
    """One line; None becomes NaN, which leaves a gap."""
    places: list[float] = [point.last for point in curve.points]
    means, lows, highs = (
        [float("nan") if value is None else value for value in values]
        for values in zip(*((point.mean, point.lowest, point.highest) for point in curve.points), strict=True)
    )
    if curve.name == ALL_WORDS:
        return axes.plot(places, means, color=GREY, linestyle="--", marker=".", linewidth=1.5)[0]
    number = policies.index(curve.name)
    colour = COLOURS[number % len(COLOURS)]
    dash, marker = _DASHES[number // len(COLOURS) % len(_DASHES)], _MARKERS[number % len(_MARKERS)]
    if curve.runs > 1 and len(policies) <= _BANDS:
        axes.fill_between(places, lows, highs, color=colour, alpha=0.18, linewidth=0)
    elif curve.runs > 1:
        places = [place + _aside(number, len(policies), curve) for place in places]
        axes.vlines(places, lows, highs, color=colour, linewidth=1)
    return axes.plot(places, means, color=colour, linestyle=dash, marker=marker, markersize=5, linewidth=1.8)[0]


def _aside(number: int, policies: int, curve: Curve) -> float:
    """How far from its place, within the middle half of a period."""
    return (number - (policies - 1) / 2) / policies * 0.5 * (curve.points[0].last - curve.points[0].first + 1)


def _explained(curves: Sequence[Curve], policies: int) -> str:
    """What the reader of the picture must be told of the spread."""
    if all(curve.runs == 1 for curve in curves if curve.name != ALL_WORDS):
        return ""
    return f"\n({'bands' if policies <= _BANDS else 'upright lines'}: from the lowest to the highest run)"


def _name(curve: Curve) -> str:
    """The name, and how many runs stand behind it, which is told also where a long name is cut."""
    if curve.runs == 1 or curve.name == ALL_WORDS:
        return wrapped(curve.name)
    *above, last = wrapped(curve.name).split("\n")
    return "\n".join([*above, wrapped(f"{last} ({curve.runs}\N{NO-BREAK SPACE}runs)")])
