"""Two settings against each other: means over runs, gaps, the best pair, and the picture."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acclimate.analysis.grid import grid_of
from acclimate.data.problems import InputError


def result(elm: Any, blm: Any, value: Any) -> dict[str, Any]:
    return {"elm": elm, "blm": blm, "exact_match": value, "seed": 1}


RESULTS = [result(1.0, 0.15, 0.5), result(0.25, 0.075, 0.2), result(1.0, 0.15, 0.7), result(1.0, 0.075, 0.6)]


def test_runs_of_one_pair_are_averaged_and_missing_pairs_are_gaps() -> None:
    grid = grid_of(RESULTS, "elm", "blm", "exact_match")
    assert (grid.rows, grid.columns) == ((0.25, 1.0), (0.075, 0.15))
    assert grid.means == [[0.2, None], [0.6, pytest.approx(0.6)]]
    cell = grid.cells[1][1]
    assert cell is not None
    assert (cell.runs, cell.deviation) == (2, pytest.approx(0.1 * 2**0.5))


def test_the_best_pair_is_named_and_of_equal_ones_the_first() -> None:
    assert grid_of(RESULTS[:2], "elm", "blm", "exact_match").best == (1.0, 0.15)
    equal = [result(row, column, 0.5) for row in (1, 2) for column in (1, 2)]
    assert grid_of(equal, "elm", "blm", "exact_match").best == (1, 1)


def test_settings_may_be_names() -> None:
    grid = grid_of([result("span", 1, 0.1), result(2, 1, 0.2), result("pmi", 1, 0.3)], "elm", "blm", "exact_match")
    assert grid.rows == (2, "pmi", "span")


@pytest.mark.parametrize("bad", [{"elm": 1, "blm": 2}, result(1, 2, "many"), result(1, 2, None)])
def test_a_result_without_the_figure_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="needs elm, blm and the number exact_match"):
        grid_of([bad], "elm", "blm", "exact_match")


def test_no_results_make_no_grid() -> None:
    with pytest.raises(InputError, match="no result"):
        grid_of([], "elm", "blm", "exact_match")


def test_it_is_told_in_json_and_rows() -> None:
    grid = grid_of(RESULTS, "elm", "blm", "exact_match")
    assert json.loads(json.dumps(grid.as_dict()))["best"] == list(grid.best)
    assert grid.as_rows()[0] == {"elm": 0.25, "blm": 0.075, "mean": 0.2, "deviation": None, "runs": 1}
    assert len(grid.as_rows()) == 3
