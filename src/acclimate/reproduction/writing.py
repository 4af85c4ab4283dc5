"""A table that was run again, as files: Markdown to read, CSV to count with, and a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from acclimate.comparison.tables import markdown_table
from acclimate.data.problems import InputError
from acclimate.data.writers.shared import save, write_csv
from acclimate.reproduction.cells import shared_settings
from acclimate.reproduction.finished import Finished
from acclimate.reproduction.pictures import draw, draw_maps
from acclimate.reproduction.results import PAPER, Figure, Panel, Reproduction, panels
from acclimate.reproduction.table import Number

SMALL = "**Small scale: shows that the runner runs, not the paper's result.** Bundled corpora stand in for the data."


def write_all(found: Reproduction, out: Path, finished: Mapping[tuple[str, str, int], Finished]) -> None:
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


def _pictures(found: Reproduction, out: Path, finished: Mapping[tuple[str, str, int], Finished]) -> list[str]:
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
