"""Validation curves of several runs on one plot (MSLM's Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acclimate.analysis.curves import EpochsToMatch, Look
from acclimate.analysis.plots.canvas import COLOURS, INK, clear_frame, new_figure, widest, wrapped
from acclimate.data.problems import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES = ("-", "--", ":", "-.")


def draw_compared_curves(found: Sequence[EpochsToMatch], title: str = "Scores along training") -> Figure:
    """A plot per selector. The dotted line is the best score of the first curve, a ring where another reaches it, and
    a cross the best of each."""
    if not found:
        raise InputError("there is no curve to draw.")
    names = [wrapped(curve.name) for one in found for curve in one.curves]
    lines = max(sum(wrapped(curve.name).count("\n") + 1 for curve in one.curves) for one in found)
    height = max(3.2, 1.0 + 0.24 * lines)
    figure = new_figure(title, 6.0 + widest(names), height * len(found) + 0.5)
    for number, one in enumerate(found, start=1):
        _draw(figure.add_subplot(len(found), 1, number), one)
    return figure


def _draw(axes: Axes, found: EpochsToMatch) -> None:
    clear_frame(axes)
    in_epochs = all(look.epoch is not None for curve in found.curves for look in curve.evaluations)

    def place(look: Look) -> float:
        return look.epoch if in_epochs and look.epoch is not None else look.update

    goal = found.curves[0].best.score
    axes.axhline(goal, color=INK, linewidth=0.8, linestyle=":")
    handles: list[Any] = []
    for number, curve in enumerate(found.curves):
        style: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "linestyle": _DASHES[number // len(COLOURS) % len(_DASHES)],
        }
        scores = [look.score for look in curve.evaluations]
        handles += axes.plot([place(look) for look in curve.evaluations], scores, marker=".", **style)
        axes.plot([place(curve.best)], [curve.best.score], marker="x", markersize=8, color=style["color"])
        reached = curve.reaches(goal) if number else None
        if reached is not None:
            ring: dict[str, Any] = {"marker": "o", "markersize": 10, "markerfacecolor": "none"}
            axes.plot([place(reached)], [reached.score], color=INK, clip_on=False, **ring)
    axes.set_title(wrapped(found.selector, 60), loc="left", fontsize=9)
    axes.set_xlabel("epochs" if in_epochs else "updates")
    axes.grid(axis="y", color="#E4E4E4")
    told = [f" {wrapped(curve.name)}" for curve in found.curves]
    axes.legend(handles, told, loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0, frameon=False, fontsize=9)
