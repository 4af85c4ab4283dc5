"""The table of fair baselines, from its rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from fair_baselines import ALONE, table


def row(method: str, seed: int, before: float, after: float, p_value: float | None = None) -> dict[str, Any]:
    tests = None if p_value is None else [p_value, p_value / 2]
    return {"setting": "chunks", "method": method, "seed": seed, "before": before, "after": after, "p_values": tests}


def test_a_method_stands_beside_both_baselines_and_a_change_is_against_the_one_of_its_make() -> None:
    rows = [row(ALONE, 1, 36.0, 36.0), row(ALONE, 2, 38.0, 38.0)]
    rows += [row("MAT", 1, 55.0, 56.0, 0.3), row("MAT", 2, 56.0, 54.0, 0.01)]
    (line,) = table(rows).splitlines()[2:]
    assert line == ("| chunks, MAT | 37.00 ± 1.41 | 55.50 ± 0.71 | 55.00 ± 1.41 | -0.50 ± 1.50 | 0 up, 1 down, of 2 |")


def test_settings_without_rows_have_no_line() -> None:
    assert len(table([row("MAT", 1, 50.0, 51.0, 0.01)]).splitlines()) == 3
    assert len(table([]).splitlines()) == 2
