"""The curves of a run: a row of small plots for each stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from acclimate.analysis.curves import CHANCE, GUESSING, OUTRUN, SEEING_THROUGH, Series, StageCurves
from acclimate.analysis.plots.canvas import COLOURS, INK, clear_frame, new_figure, wrapped
from acclimate.data.problems import InputError, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 3
_WIDTH, _HEIGHT, _LINE = 3.5, 2.3, 0.18  # inches: of a plot, and of a line of text above or below it
_MANY = 40  # points from which on a curve is also drawn smoothed
_WARNING = "#FBF0DC"
_DASHES = ("-", "--", ":", "-.")
_PARTS = {"accuracy": "both domains", "source_accuracy": "source", "target_accuracy": "target"}
_ZONES = {SEEING_THROUGH: "sees\nthrough", GUESSING: "guesses", OUTRUN: "mostly\nwrong"}


@dataclass(frozen=True)
class _Panel:
    """One small plot, and how many lines of text stand below it."""

    title: str
    draw: Callable[[Axes], Any]
    below: int = 0


@dataclass(frozen=True)
class _Row:
    """Plots side by side. The name is the stage's; it is empty where a stage goes on in another row."""

    name: str
    updates: int
    panels: list[_Panel]

    @property
    def titles(self) -> int:
        """Lines of the plots' own titles."""
        return max(panel.title.count("\n") + 1 for panel in self.panels)

    @property
    def above(self) -> int:
        """Lines that the name needs, too, and one that stays empty."""
        return self.titles + (self.name.count("\n") + 1 if self.name else 0) + 1

    @property
    def below(self) -> int:
        return max(panel.below for panel in self.panels)


def draw_curves(stages: Sequence[StageCurves], title: str = "Training") -> Figure:
    """Losses, scores, the game between encoder and discriminator, and watched sentences, stage by stage.

    A long curve is pale as it was logged, and dark where neighbours are averaged.
    """
    scales = _scales(stages)
    rows = [row for curves in stages for row in _rows(curves, scales)]
    if not rows:
        raise InputError("there is no curve to draw.")
    across = max(len(row.panels) for row in rows)
    heights = [_HEIGHT + _LINE * (row.above + row.below) for row in rows]
    figure = new_figure(title, max(_WIDTH * across, 5.0), sum(heights) + 0.8)
    grid = figure.add_gridspec(len(rows), across, height_ratios=heights)
    for number, row in enumerate(rows):
        for column, panel in enumerate(row.panels):
            axes = figure.add_subplot(grid[number, column])
            _frame(axes, panel.title, row.updates)
            panel.draw(axes)
            if column == 0:
                _name(axes, row)
    longest = max(len(series.values) for curves in stages for _, _, series in curves.series)
    explained = " (long curves: pale as logged, dark the mean of neighbours)" if longest >= _MANY else ""
    figure.supxlabel(f"updates{explained}", fontsize=9)
    return figure


def smoothed(values: Sequence[float], reach: int) -> list[float]:
    """The mean of each value and `reach` neighbours on both sides. What is no number counts nowhere, and stays."""
    found = []
    for place, value in enumerate(values):
        near = [other for other in values[max(0, place - reach) : place + reach + 1] if other == other]
        found.append(sum(near) / len(near) if value == value else value)
    return found


def _scales(stages: Sequence[StageCurves]) -> dict[str, tuple[float, float]]:
    """From the lowest to the highest score of each selector: one scale in all stages, since they are compared."""
    values: dict[str, list[float]] = {}
    for curves in stages:
        for name, series in curves.scores.items():
            values.setdefault(name, []).extend(value for value, _ in series.known)
    return {name: (min(found), max(found)) for name, found in values.items() if found}


def _rows(curves: StageCurves, scales: Mapping[str, tuple[float, float]]) -> Iterator[_Row]:
    panels = list(_panels(curves, scales))
    for start in range(0, len(panels), _ACROSS):
        name = wrapped(curves.name, 44) if start == 0 else ""
        yield _Row(name, curves.updates, panels[start : start + _ACROSS])


def _panels(curves: StageCurves, scales: Mapping[str, tuple[float, float]]) -> Iterator[_Panel]:
    for name, series in curves.losses.items():
        yield _Panel(f"loss: {wrapped(name)}", partial(_draw_series, series=series))
    for name, series in curves.scores.items():
        if name in scales:
            yield _Panel(
                f"score (ring: the best)\n{wrapped(name, 38)}", partial(_draw_looks, series=series, scale=scales[name])
            )
    if curves.game:
        yield _Panel("accuracy of the discriminator", partial(_draw_game, curves=curves), below=1)
    if curves.confidences:
        lines = len(curves.confidences)
        yield _Panel("probability of the gold tags", partial(_draw_confidences, curves=curves), below=lines)


def _frame(axes: Axes, title: str, updates: int) -> None:
    clear_frame(axes)
    axes.set_title(title, loc="left", fontsize=8.5)
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color="#E4E4E4")
    axes.set_xlim(0, 1.02 * max(updates, 1))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", nbins=5, integer=True)


def _name(axes: Axes, row: _Row) -> None:
    """The name of the stage, over the titles of its plots. Empty lines hold its place: the name itself may be wider
    than the first plot, which would be made smaller for it."""
    title = axes.get_title(loc="left")
    axes.set_title("\n" * (row.above - title.count("\n") - 1) + title, loc="left", fontsize=8.5)
    place = (0, 8.5 * 1.25 * row.titles + 10)  # points
    text = axes.annotate(row.name, (0, 1), place, "axes fraction", "offset points", weight="bold", fontsize=9.5)
    text.set_in_layout(False)


def _draw_series(axes: Axes, series: Series, colour: str = COLOURS[0], **style: Any) -> Any:
    """A line; a point without a number is a gap. A point alone has a mark, since a line would not show it."""
    places, values = series.updates, [float("nan") if value is None else value for value in series.values]
    style = {"linewidth": 1.6, "marker": "." if len(values) == 1 else "", **style}
    if len(values) < _MANY:
        return axes.plot(places, values, color=colour, **style)[0]
    axes.plot(places, values, color=colour, linewidth=0.8, alpha=0.25)
    return axes.plot(places, smoothed(values, len(values) // _MANY + 1), color=colour, **{**style, "marker": ""})[0]


def _draw_looks(axes: Axes, series: Series, scale: tuple[float, float]) -> None:
    """Scores with the best one marked; of equal ones the later, which is the one that is kept."""
    _draw_series(axes, series, COLOURS[2], marker=".")
    if series.known:
        best, update = max(series.known)
        axes.plot([update], [best], marker="o", markersize=9, markerfacecolor="none", color=INK, clip_on=False)
    low, high = scale
    room = 0.1 * (high - low) or 0.05 * abs(high) or 0.05
    axes.set_ylim(low - room, high + room)


def _draw_game(axes: Axes, curves: StageCurves) -> None:
    for zone, told in _ZONES.items():
        axes.axhspan(*zone, color=_WARNING, linewidth=0, zorder=0)
        end, beside = (1.0, sum(zone) / 2), axes.get_yaxis_transform()
        axes.annotate(told, end, (3, 0), beside, "offset points", va="center", fontsize=7, color=INK)
    axes.axhline(CHANCE, color=INK, linewidth=0.8, linestyle=":")
    lines = {}
    for number, (name, told) in enumerate(_PARTS.items()):
        if name in curves.game:
            style = {"linestyle": _DASHES[number], "linewidth": 1.2 if number else 1.8}
            lines[told] = _draw_series(axes, curves.game[name], (INK, *COLOURS)[number], **style)
    axes.set_ylim(0, 1.02)
    _legend_below(axes, list(lines.values()), list(lines), columns=len(lines))


def _draw_confidences(axes: Axes, curves: StageCurves) -> None:
    lines = []
    for number, sentence in enumerate(curves.confidences.values()):
        dash, colour = _DASHES[number // len(COLOURS) % len(_DASHES)], COLOURS[number % len(COLOURS)]
        lines.append(_draw_series(axes, sentence.probability, colour, linestyle=dash, marker="."))
    axes.set_ylim(-0.02, 1.02)
    _legend_below(axes, lines, [shorten(words, 44) for words in curves.confidences], columns=1)


def _legend_below(axes: Axes, lines: Sequence[Any], names: Sequence[str], columns: int) -> None:
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (-0.08, -0.13), "borderaxespad": 0}
    shape: dict[str, Any] = {"ncols": columns, "columnspacing": 1.2, "handlelength": 2.2, "frameon": False}
    axes.legend(list(lines), [f" {name}" for name in names], fontsize=7.5, **place, **shape)
