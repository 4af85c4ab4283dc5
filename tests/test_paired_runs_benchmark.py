"""Differences of runs of the same target and seed, from rows of the leaderboard."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from paired_runs import BEFORE, ENDS, again_table, differences, ends_table, line_of, told

SCORES = {"first": [50.0, 60.0], "second": [51.0, 58.0]}


def row(part: str, model: str, labels: int, typed: bool, target: str, score: float, **more: Any) -> dict[str, Any]:
    known = {"part": part, "model": model, "labels": labels, "typed": typed, "tested": target, "seed": 1, "changes": []}
    return {**known, "f1": score, "judges": score, "stages": [["apart", 10, 5, None]], **more}


def both(model: str, labels: int) -> list[dict[str, Any]]:
    parts = {"main": SCORES["first"], "again": SCORES["second"]}
    return [
        row(part, model, labels, typed, target, score)
        for part, scores in parts.items()
        for typed in (True, False)
        for target, score in zip(("fin", "wikigold"), scores, strict=True)
    ]


def test_runs_are_paired_by_target_seed_and_board() -> None:
    rows = both("plain", 100)
    found = differences(line_of(rows, "again", "plain", 100), line_of(rows, "main", "plain", 100), "f1", typed=True)
    assert found == [1.0, -2.0]
    assert told(found) == f"-0.50 ± {stdev([1.0, -2.0]) / 2**0.5:.2f}"


def test_a_line_that_was_run_again_tells_both_means_and_where_they_differ_most() -> None:
    rows = [
        one for model, labels in (("source-only", 0), ("plain", 100), ("datnet", 100)) for one in both(model, labels)
    ]
    rows += both("acclimate", 100)
    ends = [{**one, "way": BEFORE} for one in both("acclimate", 100) if one["part"] == "main"]
    shown = again_table(rows, ends)
    assert "| plain, 100 labels, four types | 55.00 | 54.50 | 2.1 | 2.0 (wikigold) |" in shown
    assert "| acclimate, 100 labels, type-less | 54.50 | 55.00 | 2.1 | 2.0 (wikigold) |" in shown


@pytest.mark.parametrize("way", ENDS)
def test_an_end_is_told_against_the_one_before(way: str) -> None:
    ends = [
        {**one, "way": each, "judges": one["judges"] + (each == way)}
        for one in both("acclimate", 100)
        if one["part"] == "main"
        for each in (BEFORE, *ENDS)
    ]
    line = next(line for line in ends_table(ends).splitlines() if line.startswith(f"| {way} |"))
    assert line.count("+1.00 ± 0.00") == 3
    assert "4 of 4 | 0.50" in line
