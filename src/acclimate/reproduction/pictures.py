"""Pictures of tables that were run again: bars, lines or coloured cells, the paper's numbers marked in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acclimate.analysis.plots.canvas import COLOURS, INK, add_legend, clear_frame, new_figure, save_figure, wrapped
from acclimate.analysis.plots.feature_map import draw_feature_map
from acclimate.analysis.plots.heat_map import draw_cells
from acclimate.data.problems import InputError
from acclimate.reproduction.finished import Finished
from acclimate.reproduction.results import Panel, Reproduction, by_sweep, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PANELS = 6
_HEIGHT = 2.8  # inches, of a panel
_ROOM = 0.8  # of a group that bars fill
_WIDE = 1000  # times the smallest number: a scale of powers of ten


def draw(found: Reproduction, place: Path) -> None:
    """The table's picture."""
    shown = panels(found)
    if found.table.picture == "lines":
        shown = [part for panel in shown for part in by_sweep(panel)]
    shown = shown[:_MOST_PANELS]
    small = " (small scale: not the paper's result)" if found.scale == "small" else ""
    title = f"{found.table.name}: {found.table.title}{small}"
    if found.table.picture == "cells" and len(shown[0].places) > 1:
        save_figure(_cells(shown[0], title), place)
        return
    figure = new_figure(title, max(6.0, 1.0 + 0.25 * _bars(shown)), _HEIGHT * len(shown) + 0.4)
    handles: dict[str, Any] = {}
    rows = list(dict.fromkeys(row for panel in shown for row in panel.lines))
    colours = {row: COLOURS[number % len(COLOURS)] for number, row in enumerate(rows)}
    for number, panel in enumerate(shown):
        axes = figure.add_subplot(len(shown), 1, number + 1)
        clear_frame(axes)
        axes.set_title(wrapped(panel.title, 90), loc="left", fontsize=10)
        made = (_lines if found.table.picture == "lines" and panel.across else _bars_of)(axes, panel, colours)
        handles = {**made, **handles}
        axes.grid(axis="y", color="#E4E4E4")
    ordered = [row for row in rows if row in handles]
    add_legend(figure, [handles[row] for row in ordered], [wrapped(row) for row in ordered])
    save_figure(figure, place)


def _bars(shown: list[Panel]) -> int:
    return max(len(panel.places) * max(1, len(panel.lines)) for panel in shown)


def _bars_of(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> dict[str, Any]:
    """A group for each place, a bar for each row; a black dash is the paper's number."""
    handles = {}
    width = _ROOM / max(1, len(panel.lines))
    for number, (row, line) in enumerate(panel.lines.items()):
        offset = (number - (len(panel.lines) - 1) / 2) * width
        own = [(at + offset, line[place]) for at, place in enumerate(panel.places) if place in line]
        ours = [(x, figure.mean) for x, figure in own]
        known = [(x, mean) for x, mean in ours if mean is not None]
        heights, spread = [mean.mean for _, mean in known], [mean.deviation for _, mean in known]
        bars = axes.bar([x for x, _ in known], heights, 0.9 * width, color=colours[row])
        if any(spread):
            axes.errorbar([x for x, _ in known], heights, spread, fmt="none", ecolor=INK, elinewidth=1)
        for x, figure in own:
            if figure.paper_number is not None:
                axes.hlines(figure.paper_number, x - width / 2, x + width / 2, color="black", linewidth=2)
        handles[row] = bars
    if _is_wide(panel):
        axes.set_yscale("log")
    _name_places(axes, panel)
    return handles


def _is_wide(panel: Panel) -> bool:
    """Counts of words beside words per sentence: nothing is seen of the small ones in a plain scale."""
    means = [figure.mean for line in panel.lines.values() for figure in line.values()]
    known = [mean.mean for mean in means if mean is not None]
    return bool(known) and min(known) > 0 and max(known) / min(known) > _WIDE


def _lines(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> dict[str, Any]:
    """A line for each row; dashed is the paper's."""
    handles = {}
    places = _numbers(panel)
    for row, line in panel.lines.items():
        colour = colours[row]
        ours = [(x, line[place].mean) for x, place in zip(places, panel.places, strict=True) if place in line]
        known = [(x, mean) for x, mean in ours if mean is not None]
        theirs = [(x, line[place].paper_number) for x, place in zip(places, panel.places, strict=True) if place in line]
        drawn = axes.errorbar(
            [x for x, _ in known],
            [mean.mean for _, mean in known],
            [mean.deviation for _, mean in known],
            color=colour,
            marker="o",
            markersize=3,
        )
        printed = [(x, value) for x, value in theirs if value is not None]
        if printed:
            axes.plot(*zip(*printed, strict=True), color=colour, linestyle="--", linewidth=1)
        handles[row] = drawn
    if places == list(range(len(places))):
        _name_places(axes, panel)
    else:
        axes.set_xlabel(panel.across)
    return handles


def _numbers(panel: Panel) -> list[float]:
    """Places by their own numbers where all have one (updates, epochs); else in even steps."""
    try:
        return [float(place) for place in panel.places]
    except ValueError:
        return [float(number) for number in range(len(panel.places))]


def _name_places(axes: Axes, panel: Panel) -> None:
    names = [wrapped(place, 14) for place in panel.places]
    steep = len(names) > 8
    axes.set_xticks(
        range(len(names)), names, fontsize=8, rotation=60 if steep else 0, ha="right" if steep else "center"
    )


def _cells(panel: Panel, title: str) -> Any:
    rows = list(panel.lines)
    values = []
    for row in rows:
        means = [panel.lines[row][place].mean if place in panel.lines[row] else None for place in panel.places]
        values.append([None if mean is None else mean.mean for mean in means])
    known = [value for line in values for value in line if value is not None]
    digits = 2 if known and max(known) <= 1 else 1  # chances, not percent
    return draw_cells(values, rows, panel.places, title, meaning=panel.title, column_axis=panel.across, digits=digits)


def draw_maps(found: Reproduction, out: Path, finished: Mapping[tuple[str, str, int], Finished]) -> list[str]:
    """Features on flat maps, of the first seed, where the learner was asked for them."""
    import numpy as np

    names: list[str] = []
    for cell in found.cells:
        run = finished.get((cell.row, cell.column, 1))
        if run is None or "separability" not in cell.measures or not run.facts.get("map"):
            continue
        places = np.array(run.facts["map"]["places"], np.float32)
        name = f"{found.table.name}-map-{len(names) + 1}.png"
        picture = draw_feature_map(places, run.facts["map"]["domains"], None, f"{cell.row}, {cell.column}")
        save_figure(picture, out / name)
        names.append(name)
    if not found.figures:
        raise InputError("there is nothing to draw.")
    return names
