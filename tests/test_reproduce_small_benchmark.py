"""The page of all tables at small scale names cells that are at zero, and rows that say the same."""

from __future__ import annotations

import sys
from pathlib import Path

from acclimate.data.writers.shared import write_csv

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from reproduce_small import findings, page

NAMES = ("row", "column", "measure", "figure", "mean")


def table(place: Path, *lines: tuple[str, str, str, str, float | None]) -> Path:
    write_csv([dict(zip(NAMES, line, strict=True)) for line in lines], place)
    return place


def test_a_cell_is_at_zero_where_all_its_figures_of_a_measure_are(tmp_path: Path) -> None:
    file = table(
        tmp_path / "S1.csv",
        ("base", "news", "span f1", "span f1", 0.0),
        ("base", "news", "by type", "PER", 0.0),
        ("base", "news", "by type", "LOC", 7.0),
        ("AT", "news", "span f1", "span f1", 3.0),
        ("AT", "news", "by type", "PER", 0.0),
        ("AT", "news", "by type", "LOC", 0.0),
    )
    assert findings(file) == {"cells": 4, "zero": ["span f1 | base | news", "by type | AT | news"], "alike": []}


def test_rows_that_share_one_measure_of_two_are_not_alike(tmp_path: Path) -> None:
    file = table(
        tmp_path / "S1.csv",
        *((row, "news", "recall", "recall", 3.0) for row in ("one", "two")),
        ("one", "news", "span f1", "span f1", 4.0),
        ("two", "news", "span f1", "span f1", 5.0),
    )
    assert findings(file)["alike"] == []


def test_rows_are_alike_where_every_column_is_the_same(tmp_path: Path) -> None:
    file = table(
        tmp_path / "S1.csv",
        *((row, "news", "span f1", "span f1", 3.0) for row in ("one", "two", "three")),
        *((row, "tweets", "span f1", "span f1", 4.0) for row in ("one", "two")),
        ("three", "tweets", "span f1", "span f1", 5.0),
    )
    assert findings(file)["alike"] == ["one = two"]


def test_changes_and_what_only_the_paper_has_are_no_cells(tmp_path: Path) -> None:
    file = table(
        tmp_path / "S1.csv",
        ("AT", "news", "change of span f1", "against base", 0.0),
        ("rival", "news", "span f1", "span f1", None),
    )
    assert findings(file) == {"cells": 0, "zero": [], "alike": []}


def test_the_page_names_what_was_found() -> None:
    row = {"id": "datnet-table3", "seconds": 3.0, "shown": "base: 0.00", "cells": 2}
    found = page([{**row, "zero": ["span f1 | base | news"], "alike": ["one = two"]}])
    assert "- datnet-table3, at zero: span f1 | base | news\n- datnet-table3, alike: one = two\n" in found
    assert "| 3.0 | passed | 1 of 2 | 1 | base: 0.00 |" in found
    assert "No cell is at zero, and no two rows are alike." in page([{**row, "zero": [], "alike": []}])
