"""A table that was run again, as files: Markdown to read, CSV to count with, and a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acclimate.comparison.tables import markdown_table
from acclimate.data.problems import InputError
from acclimate.data.writers.shared import save, write_csv
from acclimate.reporting.charts import (
    BarRow,
    bars,
    bars_legend,
    heat_map,
    lines,
    lines_legend,
    scatter,
    scatter_legend,
    series_classes,
)
from acclimate.reporting.svg import Figure as Chart
from acclimate.reporting.svg import save_sheet
from acclimate.reproduction.measures import Finished, Place
from acclimate.reproduction.results import PAPER, Panel, Reproduction, by_sweep, panels
from acclimate.reproduction.table import Number, shared_settings

_MOST_PANELS = 6
SMALL = "**Small scale: shows that the runner runs, not the paper's result.** Bundled corpora stand in for the data."
SAME = "same training: what a GPU's rounding does"
_TESTS = "Paired bootstrap over test sentences, all seeds of a sentence together; p after Holm's correction."
_MEAN = "mean of columns"


def write_all(result: Reproduction, out: Path, finished: Mapping[Place, Finished]) -> None:
    """ID.md, ID.csv and ID.svg; with mistakes and maps beside them where the table has such."""
    out.mkdir(parents=True, exist_ok=True)
    name = result.table.name
    write_csv([*csv_rows(result), *change_rows(result)], out / f"{name}.csv")
    try:
        draw(result, out / f"{name}.svg")
        pictures = [f"{name}.svg", *draw_maps(result, out, finished)]
    except InputError:  # there is nothing to draw
        pictures = []
    save(markdown(result, pictures).encode("utf-8"), out / f"{name}.md")
    if any("mistakes" in cell.measures for cell in result.cells):
        for (row, column, seed), run in finished.items():
            file = out / f"{name}-mistakes" / f"{_file_name(row)}, {_file_name(column)}, seed {seed}.json"
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(run.errors.as_dict(), ensure_ascii=False, indent=1), encoding="utf-8")


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_. " else "_" for letter in name)


def draw(result: Reproduction, file: Path) -> None:
    """The table's picture."""
    in_lines = result.table.picture == "lines"
    shown = panels(result)
    if in_lines:
        shown = [part for panel in shown for part in by_sweep(panel)]
    shown = shown[:_MOST_PANELS]
    small = " (small scale: not the paper's result)" if result.scale == "small" else ""
    if result.table.picture == "cells" and len(shown[0].places) > 1:
        figures = [_cells(shown[0])]
    else:
        figures = [_lines(panel) if in_lines and panel.across else _bars(panel) for panel in shown]
    save_sheet(file, f"{result.table.name}: {result.table.title}{small}", figures)


def _bars(panel: Panel) -> Chart:
    """A group for each place, a bar for each row; an upright stroke is the paper's number."""
    rows = []
    for place in panel.places:
        figures = [line.get(place) for line in panel.lines.values()]
        means = [None if figure is None else figure.mean for figure in figures]
        values = [None if mean is None else mean.mean for mean in means]
        papers = [None if figure is None else figure.paper_number for figure in figures]
        spreads = [None if mean is None else mean.deviation for mean in means]
        rows.append(BarRow(place, values, marks=papers, spreads=spreads))
    known = [value for row in rows for value in (*row.values, *row.marks) if value is not None]
    series = series_classes(list(panel.lines))
    most, digits = max([0.0, *known]), 2 if known and max(known) <= 1 else 1
    drawn = bars(panel.title, _spoken(panel), rows, series, most, digits=digits)
    has_paper = any(mark is not None for row in rows for mark in row.marks)
    note = "upright strokes: the paper's numbers" if has_paper else ""
    return Chart(panel.title, drawn, bars_legend(series), note)


def _lines(panel: Panel) -> Chart:
    """A line for each row; the thin one of the same colour is the paper's."""
    try:
        places = [float(place) for place in panel.places]  # updates, epochs
    except ValueError:
        places = [float(number) for number in range(len(panel.places))]
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
    return Chart(panel.title, drawn, lines_legend(list(series)), "thin lines: the paper's numbers" if paper else "")


def _cells(panel: Panel) -> Chart:
    figures = [[line.get(place) for place in panel.places] for line in panel.lines.values()]
    means = [[None if figure is None else figure.mean for figure in line] for line in figures]
    values = [[None if mean is None else mean.mean for mean in line] for line in means]
    known = [value for line in values for value in line if value is not None]
    if not known:
        raise InputError("there is no number to draw.")
    look: dict[str, Any] = {"scale": (min(known), max(known)), "digits": 2 if max(known) <= 1 else 1, "longest": 30}
    names = list(panel.lines)
    return Chart(panel.title, heat_map(panel.title, _spoken(panel), names, panel.places, values, panel.across, **look))


def _spoken(panel: Panel) -> str:
    """The numbers for readers who cannot see the picture."""
    rows = []
    for row, line in panel.lines.items():
        means = {place: figure.mean for place, figure in line.items()}
        shown = ", ".join(f"{place} {mean.mean:.4g}" for place, mean in means.items() if mean is not None)
        rows.append(f"{row}: {shown}")
    return "; ".join(rows)


def draw_maps(result: Reproduction, out: Path, finished: Mapping[Place, Finished]) -> list[str]:
    """Features on flat maps, of the first seed, where the learner was asked for them."""
    names: list[str] = []
    for cell in result.cells:
        run = finished.get((cell.row, cell.column, 1))
        if run is None or "separability" not in cell.measures or not run.facts.get("map"):
            continue
        places, domains = run.facts["map"]["places"], run.facts["map"]["domains"]
        corpora = list(dict.fromkeys(domains))
        groups = [corpora.index(domain) for domain in domains]
        spoken = ", ".join(f"{domains.count(name)} points of {name}" for name in corpora)
        drawn = scatter("Features by corpus", spoken, places, groups, domains)
        name = f"{result.table.name}-map-{len(names) + 1}.svg"
        save_sheet(out / name, f"{cell.row}, {cell.column}", [Chart(spoken, drawn, scatter_legend(corpora))])
        names.append(name)
    return names


def csv_rows(result: Reproduction) -> list[dict[str, object]]:
    rows = []
    for figure in result.figures:
        mean, values = figure.mean, " ".join(f"{value:.6g}" for value in figure.values)
        average = (None, None) if mean is None else (mean.mean, mean.deviation)
        place = (figure.row, figure.column, figure.measure, figure.name)
        rows.append(_csv_row(result, place, average, len(figure.values), values, figure.paper))
    return rows


def _csv_row(
    result: Reproduction,
    place: tuple[str, str, str, str],
    average: tuple[float | None, float | None],
    runs: int,
    values: str,
    paper: Number | None,
) -> dict[str, object]:
    names = ("row", "column", "measure", "figure", "mean", "std", "runs", "values", "paper")
    own = zip(names, (*place, *average, runs, values, paper), strict=True)
    return {"table": result.table.name, "scale": result.scale, **dict(own)}


def markdown(result: Reproduction, pictures: list[str]) -> str:
    """The page."""
    table, runs = result.table, len(result.seeds)
    spread = f", mean ± standard deviation of {runs} seeds" if runs > 1 else ", one seed" if runs else ""
    marked = f" Lines marked “{PAPER}” are its own numbers." if table.published else ""
    about = f"Rows are {table.rows_are}, columns {table.columns_are}{spread}.{marked}"
    page = [f"# {table.name}: {table.title}", "", f"{table.paper}, {table.shows}. {about}"]
    page += ["", SMALL] if result.scale == "small" else []
    for panel in panels(result):
        title = f"## {panel.title[:1].upper()}{panel.title[1:]}"
        page += ["", title, "", *markdown_table(list(_panel_rows(panel)))]
    page += _change_lines(result)
    page += [line for name in pictures for line in ("", f"![{table.title}]({name})")]
    page += ["", "## Where this comes from", ""]
    page += [f"- Data, {name}: {about}" for name, about in result.data.items()]
    page += [f"- Missing, left out: {one}" for one in result.missing]
    page += [f"- {note}" for note in result.notes]
    settings = shared_settings(cell for cell in result.cells if cell.name not in result.skipped)
    if settings:
        page.append(f"- Trained with {', '.join(f'`{name}={value}`' for name, value in settings.items())}.")
    page += [f"- Failed: {name}. {why}" for name, why in result.failures.items()]
    page += [f"- {'Not as in the paper' if table.published else 'Note'}: {remark}" for remark in table.differs]
    if result.seeds:
        page += [f"- Seeds {', '.join(map(str, result.seeds))}; {result.seconds:,.0f} s of training in all."]
    page += [f"- Again: `{result.command}`"] if result.command else []
    return "\n".join(page) + "\n"


def _panel_rows(panel: Panel) -> Iterator[list[str]]:
    """The head, then each row of ours with the paper's below it."""
    yield [panel.across if len(panel.places) > 1 else "", *panel.places]
    for row, line in panel.lines.items():
        own = [line.get(place) for place in panel.places]
        if any(figure is not None and figure.values for figure in own):
            yield [row, *("" if figure is None else figure.text for figure in own)]
        if any(figure is not None and figure.paper is not None for figure in own):
            yield [f"{row} ({PAPER})", *("" if figure is None else _printed(figure.paper) for figure in own)]


def _printed(paper: Number | None) -> str:
    return "" if paper is None else str(paper)


def _change_lines(result: Reproduction) -> list[str]:
    """A section of the page; nothing where no rows are compared."""
    if not result.gains:
        return []
    rows = [["", "against", "change", "95 % interval", "p (Holm)", PAPER]]
    for gain in result.gains:
        test = gain.test
        sure = ["", SAME]
        if gain.p_holm is not None:
            sure = [f"{100 * test.low:+.2f} to {100 * test.high:+.2f}", f"{gain.p_holm:.3f}"]
        change = f"{100 * test.difference:+.2f}"
        rows.append([f"{gain.row}, {gain.column}", gain.other, change, *sure, _printed(gain.paper)])
    for row, other, mean, paper in _mean_changes(result):
        rows.append([f"{row}, {_MEAN}", other, f"{mean:+.2f}", "", "", _printed(paper)])
    return ["", "## Changes", "", _TESTS, "", *markdown_table(rows)]


def change_rows(result: Reproduction) -> list[dict[str, object]]:
    """The same for a spreadsheet, in the columns that figures have."""
    rows = []
    for gain in result.gains:
        place = (gain.row, gain.column, f"change of {gain.test.metric}", f"against {gain.other}")
        rows.append(_csv_row(result, place, (100 * gain.test.difference, None), gain.test.seeds, "", gain.paper))
    for row, other, change, paper in _mean_changes(result):
        place = (row, _MEAN, "change", f"against {other}")
        rows.append(_csv_row(result, place, (change, None), len(result.seeds), "", paper))
    return rows


def _mean_changes(result: Reproduction) -> Iterator[tuple[str, str, float, Number | None]]:
    """Row, the row it is compared with, and its mean change over the columns that were tested, ours and the paper's."""
    by_row: dict[str, list[float]] = {}
    for gain in result.gains:
        if gain.p_holm is not None:
            by_row.setdefault(gain.row, []).append(100 * gain.test.difference)
    for row, values in by_row.items():
        if len(values) > 1:
            paper = result.table.published_gains.get(row, {}).get("mean")
            assert not isinstance(paper, dict)
            yield row, result.table.against[row], sum(values) / len(values), paper
