"""Does every table of the papers run? All runners of `acclimate papers reproduce` at small scale, one line for each.

    python benchmarks/reproduce_small.py --out DIR [--only mat-table3] [--jobs 1] [--minutes M] [--table FILE.md]

Bundled corpora, a few updates, one seed, on a CPU: what comes out says that a runner runs, and nothing about a paper.
The sizes are such that every training learns something. A cell at zero, or two rows that say the same, can therefore be
a runner that is wired wrongly: the page names them, and the script then ends with exit code 1.
A runner that is done has a file in DIR/rows and is not done again; trainings of one that was cut off are kept, too.
`--minutes`: no runner is begun after that. Every page, CSV file and picture is in DIR.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from shared import finish_jobs, markdown, parser, rows_of, show

HEAD = """# Every table at small scale

`python benchmarks/reproduce_small.py --out DIR`: `acclimate papers reproduce TABLE --scale small` for every table, one
after the other. **Small scale: shows that the runners run, not the papers' results.** Seconds are of one runner, on a
CPU; a training that an earlier runner has made is not repeated. "At zero" counts the cells whose figures of one measure
are all 0. "Alike" counts groups of rows whose figures are the same in every measure. There should be none of either: a
runner whose cells are all 0, or all equal, cannot show that it is wired rightly. The last column is the first line of
figures in the page that the runner wrote. The script continues where it stopped."""


def main() -> None:
    from acclimate.reproduction.table import all_tables, find_table

    options = parser(__doc__, "out jobs minutes table", only="").parse_args()
    out = Path(options.out)
    wanted = [find_table(name).name for name in options.only.split(",")] if options.only else list(all_tables())
    # each runner has so many trainings at once, and may use what those before it have trained
    one_by_one = argparse.Namespace(jobs=1, minutes=options.minutes)
    finish_jobs({f"{name}.jsonl": (name, out, options.jobs) for name in wanted}, run, out, one_by_one)
    rows = rows_of(out)
    show(page(rows), options.table)
    if any(row["zero"] or row["alike"] for row in rows):
        sys.exit(1)


def run(name: str, out: Path, jobs: int) -> list[dict[str, Any]]:
    from typer.testing import CliRunner

    from acclimate.cli.main import app

    began = time.monotonic()
    command = ["papers", "reproduce", name, "--scale", "small", "--out", str(out), "--jobs", str(jobs), "--quiet"]
    done = CliRunner().invoke(app, command)
    if done.exit_code:
        raise RuntimeError(f"exit {done.exit_code}: {(done.output.strip().splitlines() or [repr(done.exception)])[-1]}")
    row = {"id": name, "seconds": round(time.monotonic() - began, 1), "shown": first_line(out / f"{name}.md")}
    return [{**row, **findings(out / f"{name}.csv")}]


def findings(file: Path) -> dict[str, Any]:
    """How many cells a table has, which of them are at zero, and which rows have the same figures everywhere."""
    cells: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    with file.open(encoding="utf-8") as lines:
        for line in csv.DictReader(lines):
            if line["mean"] and not line["measure"].startswith("change"):
                cells[line["measure"], line["row"], line["column"]][line["figure"]] = float(line["mean"])
    zero = [" | ".join(place) for place, figures in cells.items() if not any(figures.values())]
    rows: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for (measure, row, column), figures in cells.items():
        rows[row][f"{measure} | {column}"] = figures
    same: dict[str, list[str]] = defaultdict(list)
    for row, columns in rows.items():
        if any(value for figures in columns.values() for value in figures.values()):  # zeros are named already
            same[json.dumps(columns, sort_keys=True)].append(row)
    alike = [" = ".join(names) for names in same.values() if len(names) > 1]
    return {"cells": len(cells), "zero": zero, "alike": alike}


def first_line(page: Path) -> str:
    """Names and figures of the first row of the page, as words."""
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    head, row = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[:2])
    pairs = [f"{place} {figure}" for place, figure in zip(head[1:], row[1:], strict=False) if figure]
    return f"{row[0]}: {'; '.join(pairs[:4])}{' …' if len(pairs) > 4 else ''}"


def page(rows: list[dict[str, Any]]) -> str:
    from acclimate.reproduction.table import all_tables

    by_table = {row["id"]: row for row in rows}
    lines = []
    for table in all_tables().values():
        row = by_table.get(table.name)
        cells = ["", "not run", "", "", ""]
        if row is not None:
            zero, alike = f"{len(row['zero'])} of {row['cells']}", str(len(row["alike"]))
            cells = [row["seconds"], "passed", zero, alike, row["shown"]]
        lines.append([table.name, f"{table.paper}, {table.shows}: {table.title}", *cells])
    total = sum(row["seconds"] for row in rows)
    summary = f"{len(rows)} of {len(lines)} runners end with exit code 0, in {total / 60:.0f} minutes together."
    faults = [f"- {row['id']}, at zero: {one}" for row in rows for one in row["zero"]]
    faults += [f"- {row['id']}, alike: {one}" for row in rows for one in row["alike"]]
    listed = "\n".join(faults) or "No cell is at zero, and no two rows are alike."
    columns = ["id", "what", "seconds", "state", "at zero", "alike", "first figures"]
    return f"{HEAD}\n\n{summary}\n\n{listed}\n\n{markdown(columns, lines)}"


if __name__ == "__main__":
    main()
