"""Pictures of tables that were run again: bars, lines or coloured cells, the paper's numbers marked in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from acclimate.data.problems import InputError
from acclimate.reporting.charts.bars import BarRow, bars, bars_legend, series_classes
from acclimate.reporting.charts.frame import Figure
from acclimate.reporting.charts.heat_map import heat_map
from acclimate.reporting.charts.lines import lines, lines_legend
from acclimate.reporting.charts.points import scatter, scatter_legend
from acclimate.reporting.charts.sheet import save_sheet
from acclimate.reproduction.finished import Finished
from acclimate.reproduction.results import Panel, Reproduction, by_sweep, panels

_MOST_PANELS = 6
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
        figures = [_cells(shown[0])]
    else:
        in_lines = found.table.picture == "lines"
        figures = [_lines(panel) if in_lines and panel.across else _bars(panel) for panel in shown]
    save_sheet(place, title, figures)


def _bars(panel: Panel) -> Figure:
    """A group for each place, a bar for each row; an upright stroke is the paper's number."""
    rows = []
    for place in panel.places:
        figures = [line.get(place) for line in panel.lines.values()]
        means = [None if figure is None else figure.mean for figure in figures]
        rows.append(
            BarRow(
                place,
                [None if mean is None else mean.mean for mean in means],
                marks=[None if figure is None else figure.paper_number for figure in figures],
                spreads=[None if mean is None else mean.deviation for mean in means],
            )
        )
    known = [value for row in rows for value in (*row.values, *row.marks) if value is not None]
    series = series_classes(list(panel.lines))
    most, digits = max([0.0, *known]), 2 if known and max(known) <= 1 else 1
    drawn = bars(panel.title, _spoken(panel), rows, series, most, digits=digits, powers=_is_wide(panel))
    has_paper = any(mark is not None for row in rows for mark in row.marks)
    note = "upright strokes: the paper's numbers" if has_paper else ""
    return Figure(panel.title, drawn, bars_legend(series), note)


def _is_wide(panel: Panel) -> bool:
    """Counts of words beside words per sentence: nothing is seen of the small ones in a plain scale."""
    means = [figure.mean for line in panel.lines.values() for figure in line.values()]
    known = [mean.mean for mean in means if mean is not None]
    return bool(known) and min(known) > 0 and max(known) / min(known) > _WIDE


def _lines(panel: Panel) -> Figure:
    """A line for each row; the thin one of the same colour is the paper's."""
    places = _numbers(panel)
    series: dict[str, list[tuple[float, float | None]]] = {}
    paper: dict[str, list[tuple[float, float | None]]] = {}
    ranges: dict[str, list[tuple[float, float, float]]] = {}
    for row, line in panel.lines.items():
        for x, place in zip(places, panel.places, strict=True):
            figure = line.get(place)
            mean = None if figure is None else figure.mean
            series.setdefault(row, []).append((x, None if mean is None else mean.mean))
            if mean is not None and mean.deviation:
                spread = (x, mean.mean - mean.deviation, mean.mean + mean.deviation)
                ranges.setdefault(row, []).append(spread)
            if figure is not None and figure.paper_number is not None:
                paper.setdefault(row, []).append((x, figure.paper_number))
    is_even = places == [float(number) for number in range(len(places))]
    names = dict(zip(places, panel.places, strict=True)) if is_even else None
    drawn = lines(panel.title, _spoken(panel), series, across=panel.across, ranges=ranges, beside=paper, names=names)
    return Figure(panel.title, drawn, lines_legend(list(series)), "thin lines: the paper's numbers" if paper else "")


def _numbers(panel: Panel) -> list[float]:
    """Places by their own numbers where all have one (updates, epochs); else in even steps."""
    try:
        return [float(place) for place in panel.places]
    except ValueError:
        return [float(number) for number in range(len(panel.places))]


def _cells(panel: Panel) -> Figure:
    rows = list(panel.lines)
    values = []
    for row in rows:
        means = [panel.lines[row][place].mean if place in panel.lines[row] else None for place in panel.places]
        values.append([None if mean is None else mean.mean for mean in means])
    known = [value for line in values for value in line if value is not None]
    if not known:
        raise InputError("there is no number to draw.")
    digits = 2 if max(known) <= 1 else 1  # probabilities, not percent
    scale = (min(known), max(known))
    drawn = heat_map(
        panel.title, _spoken(panel), rows, panel.places, values, panel.across, scale=scale, digits=digits, longest=30
    )
    return Figure(panel.title, drawn)


def _spoken(panel: Panel) -> str:
    """The numbers for who cannot see them."""
    return "; ".join(
        f"{row}: " + ", ".join(f"{place} {line[place].mean.mean:.4g}" for place in line if line[place].mean is not None)  # type: ignore[union-attr]
        for row, line in panel.lines.items()
    )


def draw_maps(found: Reproduction, out: Path, finished: Mapping[tuple[str, str, int], Finished]) -> list[str]:
    """Features on flat maps, of the first seed, where the learner was asked for them."""
    names: list[str] = []
    for cell in found.cells:
        run = finished.get((cell.row, cell.column, 1))
        if run is None or "separability" not in cell.measures or not run.facts.get("map"):
            continue
        places, domains = run.facts["map"]["places"], run.facts["map"]["domains"]
        corpora = list(dict.fromkeys(domains))
        groups = [corpora.index(domain) for domain in domains]
        spoken = ", ".join(f"{domains.count(name)} points of {name}" for name in corpora)
        drawn = scatter("Features by corpus", spoken, places, groups, domains)
        name = f"{found.table.name}-map-{len(names) + 1}.svg"
        save_sheet(out / name, f"{cell.row}, {cell.column}", [Figure(spoken, drawn, scatter_legend(corpora))])
        names.append(name)
    if not found.figures:
        raise InputError("there is nothing to draw.")
    return names
