"""How much a sentence counts in GRAD's loss, by how sure the discriminator is (DATNet, Figure 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acclimate.analysis.plots.canvas import COLOURS, add_legend, clear_frame, new_figure
from acclimate.data.problems import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STEPS = 200
_DASHES = ("-", "--", "-.", ":")


def source_weight(chance: float, alpha: float, gamma: float) -> float:
    """The weight of a source sentence to which the discriminator gives this chance of being one."""
    return alpha * math.pow(1 - chance, gamma)


def target_weight(chance: float, alpha: float, gamma: float) -> float:
    """The weight of a target sentence to which the discriminator gives this chance of being a source one."""
    return (1 - alpha) * math.pow(chance, gamma)


def draw_focal_weights(
    alpha: float = 0.25, gammas: Sequence[float] = (0.0, 0.5, 1.0, 2.0, 5.0), title: str | None = None
) -> Figure:
    """Two plots side by side, source and target, a line per gamma. With gamma 0 every sentence counts the same."""
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha is the source's share and lies between 0 and 1, not at {alpha}.")
    if not gammas or min(gammas) < 0:
        raise InputError(f"gammas are numbers from 0 on, not {list(gammas)}.")
    figure = new_figure(title or f"Weights in the GRAD loss, alpha = {alpha:g}", 8.6, 3.9)
    chances = [step / _STEPS for step in range(_STEPS + 1)]
    panels = (("a source sentence", source_weight, "right"), ("a target sentence", target_weight, "wrong"))
    beside = None
    for column, (name, weight, meaning) in enumerate(panels):
        axes = beside = figure.add_subplot(1, 2, column + 1, sharey=beside)
        clear_frame(axes)
        lines = [
            axes.plot(chances, [weight(chance, alpha, gamma) for chance in chances], **_style(number))[0]
            for number, gamma in enumerate(gammas)
        ]
        axes.set_title(f"weight of {name}", loc="left", fontsize=10)
        axes.set_xlabel(f"r: chance of being source (1: {meaning})")
        axes.set_xlim(0, 1)
        axes.grid(axis="y", color="#E4E4E4")
    axes.set_ylim(0, 1.05 * max(alpha, 1 - alpha))  # of both: they share it
    add_legend(figure, lines, [f"gamma {gamma:g}" for gamma in gammas])
    return figure


def _style(number: int) -> dict[str, Any]:
    colour, dash = COLOURS[number % len(COLOURS)], _DASHES[number % len(_DASHES)]
    return {"color": colour, "linestyle": dash, "linewidth": 1.8}
