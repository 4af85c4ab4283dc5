"""A table that was run again, as files: Markdown to read, CSV to count with, and a page of charts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from acclimate.comparison.tables import markdown_table
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
from acclimate.reporting.page import Charts, Section, page
from acclimate.reporting.svg import Figure as Chart
from acclimate.reproduction.measures import Finished, Place
from acclimate.reproduction.results import PAPER, Panel, Reproduction, by_sweep, panels
from acclimate.reproduction.table import Number, shared_settings

_MOST_PANELS = 6
SMALL = "**Small scale: shows that the runner runs, not the paper's result.** Bundled corpora stand in for the data."
_TESTS = "Paired bootstrap over test sentences, all seeds of a sentence together; p after Holm's correction."
_MEAN = "mean of columns"


def write_all(result: Reproduction, out: Path, finished: Mapping[Place, Finished]) -> None:
    """ID.md, ID.csv and ID.html; the mistakes of each run beside them where the table asks for them."""
    out.mkdir(parents=True, exist_ok=True)
    name = result.table.name
    write_csv([*figure_records(result), *change_records(result)], out / f"{name}.csv")
    save(markdown(result).encode("utf-8"), out / f"{name}.md")
    save(chart_page(result, [*charts(result), *maps(result, finished)]).encode("utf-8"), out / f"{name}.html")
    if any("mistakes" in cell.measures for cell in result.cells):
        for (row, column, seed), run in finished.items():
            file = out / f"{name}-mistakes" / f"{_file_name(row)}, {_file_name(column)}, seed {seed}.json"
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(run.errors.as_dict(), ensure_ascii=False, indent=1), encoding="utf-8")


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_. " else "_" for letter in name)


def chart_page(result: Reproduction, figures: list[Chart]) -> str:
    table = result.table
    under = "Small scale: not the paper's result." if result.scale == "small" else f"{table.paper}, {table.shows}."
    section = Section("charts", "Charts", f"The numbers stand in {table.name}.md.", [Charts(figures)])
    return page(f"{table.name}: {table.title}", "Acclimate · a paper's table", under, None, [section])


def charts(result: Reproduction) -> list[Chart]:
    """A chart for each panel, of the kind that the table asks for."""
    shown = panels(result)
    if result.table.picture == "cells" and len(shown[0].places) > 1:
        return [_cells(shown[0])]
    if result.table.picture != "lines":
        return [_bars(panel) for panel in shown[:_MOST_PANELS]]
    sweeps = [part for panel in shown for part in by_sweep(panel)]
    return [_lines(panel) if panel.across else _bars(panel) for panel in sweeps[:_MOST_PANELS]]


def _bars(panel: Panel) -> Chart:
    """A group for each place, a bar for each row; an upright stroke is the paper's number."""
    rows = []
    for place in panel.places:
        figures = [panel.at(row, place) for row in panel.lines]
        papers, spreads = [figure.paper_number for figure in figures], [figure.deviation for figure in figures]
        rows.append(BarRow(place, [figure.value for figure in figures], marks=papers, spreads=spreads))
    known = [value for row in rows for value in (*row.values, *row.marks) if value is not None]
    series = series_classes(list(panel.lines))
    most, digits = max([0.0, *known]), 2 if known and max(known) <= 1 else 1
    drawn = bars(panel.title, _spoken(panel), rows, series, most, digits=digits)
    has_paper = any(mark is not None for row in rows for mark in row.marks)
    return Chart(panel.title, drawn, bars_legend(series), "upright strokes: the paper's numbers" if has_paper else "")


def _lines(panel: Panel) -> Chart:
    """A line for each row; the thin one of the same colour is the paper's."""
    try:
        places, names = [float(place) for place in panel.places], None  # updates, epochs
    except ValueError:
        places = [float(number) for number in range(len(panel.places))]
        names = dict(zip(places, panel.places, strict=True))
    series: dict[str, list[tuple[float, float | None]]] = {}
    paper: dict[str, list[tuple[float, float | None]]] = {}
    ranges: dict[str, list[tuple[float, float, float]]] = {}
    for row in panel.lines:
        figures = [panel.at(row, place) for place in panel.places]
        series[row] = [(x, figure.value) for x, figure in zip(places, figures, strict=True)]
        for x, figure in zip(places, figures, strict=True):
            if figure.value is not None and figure.deviation:
                spread = (x, figure.value - figure.deviation, figure.value + figure.deviation)
                ranges.setdefault(row, []).append(spread)
            if figure.paper_number is not None:
                paper.setdefault(row, []).append((x, figure.paper_number))
    drawn = lines(panel.title, _spoken(panel), series, across=panel.across, ranges=ranges, beside=paper, names=names)
    return Chart(panel.title, drawn, lines_legend(list(series)), "thin lines: the paper's numbers" if paper else "")


def _cells(panel: Panel) -> Chart:
    values = [[panel.at(row, place).value for place in panel.places] for row in panel.lines]
    known = [value for line in values for value in line if value is not None]
    scale, digits = (min(known, default=0.0), max(known, default=1.0)), 2 if max(known, default=1.0) <= 1 else 1
    rows, spoken = list(panel.lines), _spoken(panel)
    drawn = heat_map(
        panel.title, spoken, rows, panel.places, values, panel.across, scale=scale, digits=digits, longest=30
    )
    return Chart(panel.title, drawn, scrolls=True)


def _spoken(panel: Panel) -> str:
    """The numbers for readers who cannot see the picture."""
    rows = []
    for row in panel.lines:
        values = {place: panel.at(row, place).value for place in panel.places}
        shown = ", ".join(f"{place} {value:.4g}" for place, value in values.items() if value is not None)
        rows.append(f"{row}: {shown}")
    return "; ".join(rows)


def maps(result: Reproduction, finished: Mapping[Place, Finished]) -> Iterator[Chart]:
    """Features on flat maps, of the first seed, where the learner was asked for them."""
    for cell in result.cells:
        run = finished.get((cell.row, cell.column, 1))
        if run is None or "separability" not in cell.measures or not run.facts.get("map"):
            continue
        places, domains = run.facts["map"]["places"], run.facts["map"]["domains"]
        corpora = list(dict.fromkeys(domains))
        groups = [corpora.index(domain) for domain in domains]
        spoken = ", ".join(f"{domains.count(name)} points of {name}" for name in corpora)
        drawn = scatter("Features by corpus", spoken, places, groups, domains)
        yield Chart(f"{cell.row}, {cell.column}", drawn, scatter_legend(corpora), spoken)


def figure_records(result: Reproduction) -> Iterator[dict[str, object]]:
    """Rows of the CSV file, one for each figure."""
    for figure in result.figures:
        yield _record(
            result,
            (figure.row, figure.column, figure.measure, figure.name),
            mean=figure.value,
            std=figure.deviation,
            runs=len(figure.values),
            values=" ".join(f"{value:.6g}" for value in figure.values),
            paper=figure.paper,
        )


def change_records(result: Reproduction) -> Iterator[dict[str, object]]:
    """And one for each row that is compared with another."""
    for gain in result.gains:
        place = (gain.row, gain.column, f"change of {gain.test.metric}", f"against {gain.other}")
        yield _record(result, place, mean=100 * gain.test.difference, runs=gain.test.seeds, paper=gain.paper)
    for row, other, change, paper in _mean_changes(result):
        yield _record(
            result, (row, _MEAN, "change", f"against {other}"), mean=change, runs=len(result.seeds), paper=paper
        )


def _record(
    result: Reproduction,
    place: tuple[str, str, str, str],
    *,
    mean: float | None,
    runs: int,
    paper: Number | None,
    std: float | None = None,
    values: str = "",
) -> dict[str, object]:
    where = {"table": result.table.name, "scale": result.scale}
    where |= dict(zip(("row", "column", "measure", "figure"), place, strict=True))
    return {**where, "mean": mean, "std": std, "runs": runs, "values": values, "paper": paper}


def markdown(result: Reproduction) -> str:
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
    page += ["", f"Drawn: [{table.name}.html]({table.name}.html)", "", "## Where this comes from", ""]
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
    for row in panel.lines:
        own = [panel.at(row, place) for place in panel.places]
        if any(figure.values for figure in own):
            yield [row, *(figure.text for figure in own)]
        if any(figure.paper is not None for figure in own):
            yield [f"{row} ({PAPER})", *(_printed(figure.paper) for figure in own)]


def _printed(paper: Number | None) -> str:
    return "" if paper is None else str(paper)


def _change_lines(result: Reproduction) -> list[str]:
    """A section of the page; nothing where no rows are compared."""
    if not result.gains:
        return []
    rows = [["", "against", "change", "95 % interval", "p (Holm)", PAPER]]
    for gain in result.gains:
        test = gain.test
        sure = [f"{100 * test.low:+.2f} to {100 * test.high:+.2f}", f"{gain.p_holm:.3f}"]
        change = f"{100 * test.difference:+.2f}"
        rows.append([f"{gain.row}, {gain.column}", gain.other, change, *sure, _printed(gain.paper)])
    for row, other, mean, paper in _mean_changes(result):
        rows.append([f"{row}, {_MEAN}", other, f"{mean:+.2f}", "", "", _printed(paper)])
    return ["", "## Changes", "", _TESTS, "", *markdown_table(rows)]


def _mean_changes(result: Reproduction) -> Iterator[tuple[str, str, float, Number | None]]:
    """Row, the row it is compared with, and its mean change over the columns that were tested, ours and the paper's."""
    by_row: dict[str, list[float]] = {}
    for gain in result.gains:
        by_row.setdefault(gain.row, []).append(100 * gain.test.difference)
    for row, values in by_row.items():
        if len(values) > 1:
            paper = result.table.published_gains.get(row, {}).get("mean")
            assert not isinstance(paper, dict)
            yield row, result.table.against[row], sum(values) / len(values), paper
