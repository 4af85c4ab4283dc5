"""Runs of the same target and seed against each other: what an end of `acclimate` brings, what it brings against other
lines, what teaching without labels brings, and how far two runs that are the same in everything are apart on a GPU.

    python benchmarks/paired_runs.py [--rows leaderboard.jsonl] [--ends finishing.jsonl]

Nothing is trained: the tables of docs/explanation/results/leaderboard.md that tell differences of runs are made
from its rows. ± is the standard error of the mean difference.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from grid import Row, markdown, read_rows
from leaderboard_jobs import MAIN, PLAIN, VARIANTS

AGAIN = "again"  # the part of rows that were run once more, or are of a former default
BEFORE = "rounds"  # how `acclimate` ended with labels when that was the default
ENDS = ("nothing", "apart", "apart, rate 1", "rounds, apart")
BOARDS = {True: "four types", False: "type-less"}
Runs = dict[tuple[Any, ...], Row]


def runs_of(rows: Iterable[Row], wanted: Callable[[Row], bool]) -> Runs:
    return {(row["tested"], row["seed"], row["typed"]): row for row in rows if wanted(row)}


def differences(one: Runs, other: Runs, measure: str, typed: bool | None = None) -> list[float]:
    """Of the runs that both have, on one board or on both."""
    shared = [key for key in one if key in other and typed in (None, key[2])]
    return [one[key][measure] - other[key][measure] for key in shared]


def told(found: list[float]) -> str:
    return f"{mean(found):+.2f} ± {stdev(found) / len(found) ** 0.5:.2f}" if found else "not run"


def ends_table(ends: list[Row]) -> str:
    before = runs_of(ends, lambda row: row["way"] == BEFORE)
    lines = []
    for way in ENDS:
        runs = runs_of(ends, lambda row, way=way: row["way"] == way)  # type: ignore[misc]
        cells = [told(differences(runs, before, "judges", typed)) for typed in (True, False, None)]
        kept = [row["stages"][-1] for row in runs.values() if row["stages"][-1][0] == "apart"]
        stayed = sum(update > 0 for _, _, update, _ in kept)
        share = f"{mean(update / updates for _, updates, update, _ in kept):.2f}" if kept else ""
        lines.append([way, *cells, f"{stayed} of {len(kept)}" if kept else "", share])
    head = ["against rounds, on the judges", *BOARDS.values(), "both", "apart is kept", "share of its updates"]
    return markdown(head, lines)


def teaching_table(rows: list[Row]) -> str:
    def unlabelled(part: str, row: Row) -> bool:
        return bool(row["part"] == part and row["model"] == "acclimate" and not row["labels"])

    usual = runs_of(rows, lambda row: unlabelled(MAIN, row))
    first, second = (
        runs_of(rows, lambda row, part=part: unlabelled(part, row) and "distillation=true" in row["changes"])  # type: ignore[misc]
        for part in (VARIANTS, AGAIN)
    )
    cells = ((first, True), (second, True), (second, False))
    scored = [("judges", cells), ("f1", cells[1:])]
    lines = [
        [measure, *(told(differences(runs, usual, measure, typed)) for runs, typed in each)] for measure, each in scored
    ]
    lines[1].insert(1, "not scored")
    return markdown(["teaching without labels", "four types", "four types, second runs", "type-less"], lines)


def line_of(rows: Iterable[Row], part: str, model: str, labels: int) -> Runs:
    return runs_of(rows, lambda row: (row["part"], row["model"], row["labels"]) == (part, model, labels))


def against_table(rows: list[Row]) -> str:
    """`acclimate` with labels beside lines that were run twice."""
    own = line_of(rows, MAIN, "acclimate", 100)
    columns = [(typed, measure) for typed in BOARDS for measure in ("f1", "judges")]
    lines = []
    for model, (part, which) in product((PLAIN, "datnet"), ((MAIN, "first"), (AGAIN, "second"))):
        other = line_of(rows, part, model, 100)
        cells = [told(differences(own, other, measure, typed)) for typed, measure in columns]
        lines.append([f"{model}, {which} runs", *cells])
    head = [f"{BOARDS[typed]}, {'test' if measure == 'f1' else measure}" for typed, measure in columns]
    return markdown(["acclimate with labels against", *head], lines)


def again_table(rows: list[Row], ends: list[Row]) -> str:
    lines = []
    for model, labels in (("source-only", 0), (PLAIN, 100), ("datnet", 100), ("acclimate", 100)):
        first, second = (line_of(rows, part, model, labels) for part in (MAIN, AGAIN))
        if model == "acclimate":  # as it was: its first runs are the ones that are kept beside the new default's
            first, second = second, runs_of(ends, lambda row: row["way"] == BEFORE)
        for typed, board in BOARDS.items():
            found = differences(second, first, "f1", typed)
            means = [mean(row["f1"] for key, row in runs.items() if key[2] == typed) for runs in (first, second)]
            largest, target = max((abs(mean(change)), name) for name, change in by_target(second, first, typed).items())
            cells = [*(f"{value:.2f}" for value in means), f"{stdev(found):.1f}", f"{largest:.1f} ({target})"]
            lines.append([f"{model}, {labels or 'no'} labels, {board}", *cells])
    return markdown(["test F1", "first", "second", "deviation of a run's difference", "largest of a target"], lines)


def by_target(one: Runs, other: Runs, typed: bool) -> dict[str, list[float]]:
    targets = dict.fromkeys(key[0] for key in one if key[2] == typed)
    return {
        target: differences({key: row for key, row in one.items() if key[0] == target}, other, "f1", typed)
        for target in targets
    }


def main() -> None:
    results = Path(__file__).parent.parent / "docs" / "explanation" / "results"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, default=results / "leaderboard.jsonl", metavar="FILE")
    parser.add_argument("--ends", type=Path, default=results / "finishing.jsonl", metavar="FILE")
    options = parser.parse_args()
    rows, ends = read_rows(options.rows), read_rows(options.ends)
    print("\n\n".join([ends_table(ends), against_table(rows), teaching_table(rows), again_table(rows, ends)]))


if __name__ == "__main__":
    main()
