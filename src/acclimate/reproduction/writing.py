"""A table that was run again, as files: Markdown to read, CSV to count with, and a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

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
from acclimate.reproduction.results import PAPER, Figure, Panel, Reproduction, by_sweep, panels
from acclimate.reproduction.table import Number, shared_settings

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


def _bars(panel: Panel) -> Chart:
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
    return Chart(panel.title, drawn, bars_legend(series), note)


def _is_wide(panel: Panel) -> bool:
    """Counts of words beside words per sentence: nothing is seen of the small ones in a plain scale."""
    means = [figure.mean for line in panel.lines.values() for figure in line.values()]
    known = [mean.mean for mean in means if mean is not None]
    return bool(known) and min(known) > 0 and max(known) / min(known) > _WIDE


def _lines(panel: Panel) -> Chart:
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
    return Chart(panel.title, drawn, lines_legend(list(series)), "thin lines: the paper's numbers" if paper else "")


def _numbers(panel: Panel) -> list[float]:
    """Places by their own numbers where all have one (updates, epochs); else in even steps."""
    try:
        return [float(place) for place in panel.places]
    except ValueError:
        return [float(number) for number in range(len(panel.places))]


def _cells(panel: Panel) -> Chart:
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
    return Chart(panel.title, drawn)


def _spoken(panel: Panel) -> str:
    """The numbers for who cannot see them."""
    return "; ".join(
        f"{row}: " + ", ".join(f"{place} {line[place].mean.mean:.4g}" for place in line if line[place].mean is not None)  # type: ignore[union-attr]
        for row, line in panel.lines.items()
    )


def draw_maps(found: Reproduction, out: Path, finished: Mapping[Place, Finished]) -> list[str]:
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
        save_sheet(out / name, f"{cell.row}, {cell.column}", [Chart(spoken, drawn, scatter_legend(corpora))])
        names.append(name)
    if not found.figures:
        raise InputError("there is nothing to draw.")
    return names


SMALL = "**Small scale: shows that the runner runs, not the paper's result.** Bundled corpora stand in for the data."


def write_all(found: Reproduction, out: Path, finished: Mapping[Place, Finished]) -> None:
    """ID.md, ID.csv and ID.svg; with mistakes and maps in folders beside them where the table has such."""
    out.mkdir(parents=True, exist_ok=True)
    name = found.table.name
    write_csv([*csv_rows(found), *change_rows(found)], out / f"{name}.csv")
    pictures = _pictures(found, out, finished)
    save(markdown(found, pictures).encode("utf-8"), out / f"{name}.md")
    if any("mistakes" in cell.measures for cell in found.cells):
        for (row, column, seed), run in finished.items():
            place = out / f"{name}-mistakes" / f"{_file_name(row)}, {_file_name(column)}, seed {seed}.json"
            place.parent.mkdir(exist_ok=True)
            place.write_text(json.dumps(run.errors.as_dict(), ensure_ascii=False, indent=1), encoding="utf-8")


def _pictures(found: Reproduction, out: Path, finished: Mapping[Place, Finished]) -> list[str]:
    """Their file names; empty where there is nothing to draw."""
    try:
        draw(found, out / f"{found.table.name}.svg")
        return [f"{found.table.name}.svg", *draw_maps(found, out, finished)]
    except InputError:
        return []


def csv_rows(found: Reproduction) -> list[dict[str, object]]:
    return [
        {
            "table": found.table.name,
            "scale": found.scale,
            "row": figure.row,
            "column": figure.column,
            "measure": figure.measure,
            "figure": figure.name,
            "mean": None if figure.mean is None else figure.mean.mean,
            "std": None if figure.mean is None else figure.mean.deviation,
            "runs": len(figure.values),
            "values": " ".join(f"{value:.6g}" for value in figure.values),
            "paper": figure.paper,
        }
        for figure in found.figures
    ]


def markdown(found: Reproduction, pictures: list[str]) -> str:
    """The page."""
    table = found.table
    lines = [f"# {table.name}: {table.title}", "", f"{table.paper}, {table.shows}. {_what(found)}"]
    if found.scale == "small":
        lines += ["", SMALL]
    for panel in panels(found):
        lines += [
            "",
            f"## {panel.title[:1].upper()}{panel.title[1:]}",
            "",
            *markdown_table(list(rows_of(panel, found))),
        ]
    lines += change_lines(found)
    lines += [line for name in pictures for line in ("", f"![{table.title}]({name})")]
    lines += ["", "## Where this comes from", ""]
    lines += [f"- Data, {name}: {told}" for name, told in found.data.items()]
    lines += [f"- Missing, left out: {one}" for one in found.missing]
    lines += [f"- {note}" for note in found.notes]
    settings = shared_settings(cell for cell in found.cells if cell.name not in found.skipped)
    if settings:
        lines += [f"- Trained with {', '.join(f'`{name}={value}`' for name, value in settings.items())}."]
    lines += [f"- Failed: {name}. {why}" for name, why in found.failures.items()]
    lines += [f"- {'Not as in the paper' if table.published else 'Note'}: {remark}" for remark in found.remarks]
    if found.seeds:
        lines += [f"- Seeds {', '.join(map(str, found.seeds))}; {found.seconds:,.0f} s of training in all."]
    if found.command:
        lines += [f"- Again: `{found.command}`"]
    return "\n".join(lines) + "\n"


def _what(found: Reproduction) -> str:
    table, runs = found.table, len(found.seeds)
    spread = f", mean ± standard deviation of {runs} seeds" if runs > 1 else ", one seed" if runs else ""
    marked = f" Lines marked “{PAPER}” are its own numbers." if table.published else ""
    return f"Rows are {table.rows_are}, columns {table.columns_are}{spread}.{marked}"


def rows_of(panel: Panel, found: Reproduction) -> Iterator[list[str]]:
    """The head, then each row of ours with the paper's below it."""
    yield [panel.across if len(panel.places) > 1 else "", *panel.places]
    for row, line in panel.lines.items():
        own = [line.get(place) for place in panel.places]
        if any(figure is not None and figure.values for figure in own):
            yield [row, *("" if figure is None else figure.told for figure in own)]
        if any(figure is not None and figure.paper is not None for figure in own):
            yield [f"{row} ({PAPER})", *map(_paper, own)]


def _paper(figure: Figure | None) -> str:
    return "" if figure is None or figure.paper is None else str(figure.paper)


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_. " else "_" for letter in name)


SAME = "same training: what a GPU's rounding does"
_TOLD = "Paired bootstrap over test sentences, all seeds of a sentence together; p after Holm's correction."
_MEAN = "mean of columns"


@dataclass(frozen=True)
class _MeanChange:
    """Of a row, over the columns in which a test was made."""

    row: str
    other: str
    change: float
    paper: Number | None


def change_lines(found: Reproduction) -> list[str]:
    """A section of the page; nothing where no rows are compared."""
    if not found.gains:
        return []
    rows = [["", "against", "change", "95 % interval", "p (Holm)", PAPER]]
    for gain in found.gains:
        one = gain.found
        interval = f"{100 * one.low:+.2f} to {100 * one.high:+.2f}"
        sure = [interval, f"{gain.p_holm:.3f}"] if gain.p_holm is not None else ["", SAME]
        change = f"{100 * one.difference:+.2f}"
        rows.append([f"{gain.row}, {gain.column}", gain.other, change, *sure, _printed(gain.paper)])
    for mean in _means(found):
        rows.append([f"{mean.row}, {_MEAN}", mean.other, f"{mean.change:+.2f}", "", "", _printed(mean.paper)])
    return ["", "## Changes", "", _TOLD, "", *markdown_table(rows)]


def change_rows(found: Reproduction) -> list[dict[str, object]]:
    """The same for a spreadsheet, in the columns that figures have."""
    made = []
    for gain in found.gains:
        one = gain.found
        told = _row(found, gain.row, gain.column, gain.other, 100 * one.difference, gain.paper)
        made.append({**told, "measure": f"change of {one.metric}", "runs": one.seeds})
    means = [_row(found, mean.row, _MEAN, mean.other, mean.change, mean.paper) for mean in _means(found)]
    return made + means


def _row(
    found: Reproduction, row: str, column: str, other: str, change: float, paper: Number | None
) -> dict[str, object]:
    return {
        "table": found.table.name,
        "scale": found.scale,
        "row": row,
        "column": column,
        "measure": "change",
        "figure": f"against {other}",
        "mean": change,
        "std": None,
        "runs": len(found.seeds),
        "values": "",
        "paper": paper,
    }


def _means(found: Reproduction) -> Iterator[_MeanChange]:
    by_row: dict[str, list[float]] = {}
    for gain in found.gains:
        if gain.p_holm is not None:
            by_row.setdefault(gain.row, []).append(100 * gain.found.difference)
    for row, values in by_row.items():
        if len(values) > 1:
            paper = found.table.published_gains.get(row, {}).get("mean")
            assert not isinstance(paper, dict)
            yield _MeanChange(row, found.table.against[row], sum(values) / len(values), paper)


def _printed(paper: Number | None) -> str:
    return "" if paper is None else str(paper)
