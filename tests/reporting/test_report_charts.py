"""Charts say what the numbers say: lengths, places and shades in proportion."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.reporting.charts import BarRow, Dot, DotRow, bars, dots, heat_map, lines, scatter, thinned
from acclimate.reporting.svg import Scale, padded

SERIES = {"before": "before", "after": "after"}


def elements(drawn: str, name: str, class_: str = "") -> list[ET.Element]:
    return [found for found in ET.fromstring(drawn).iter(name) if class_ in (found.get("class") or "")]


def numbers(found: list[ET.Element], name: str) -> list[float]:
    return [float(element.get(name, "nan")) for element in found]


def test_a_bar_is_as_long_as_its_value() -> None:
    rows = [BarRow("PER", [20.0, 40.0]), BarRow("LOC", [None, 80.0])]
    lengths = numbers(elements(bars("t", "", rows, SERIES, 100.0), "rect"), "width")
    assert len(lengths) == 3, "a value that is not known has no bar"
    assert lengths[1] / lengths[0] == pytest.approx(2, abs=0.01)
    assert lengths[2] / lengths[0] == pytest.approx(4, abs=0.01)


def test_bars_of_nothing_have_no_length() -> None:
    assert numbers(elements(bars("t", "", [BarRow("PER", [0.0, 0.0])], SERIES, 0.0), "rect"), "width") == [0, 0]


def test_long_labels_are_cut_and_named_in_full_for_who_points_at_them() -> None:
    drawn = bars("t", "", [BarRow("x" * 40, [1.0])], {"F1": "after"}, 1.0)
    assert "x" * 40 in [element.text for element in elements(drawn, "title")]
    assert "x" * 17 + "…" in drawn


def test_lines_go_up_where_values_do_and_keep_their_proportions() -> None:
    drawn = lines("t", "", {"a": [(0, 1.0), (10, 2.0), (30, 4.0)]})
    (found,) = elements(drawn, "polyline")
    places = [tuple(map(float, pair.split(","))) for pair in (found.get("points") or "").split()]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert y0 > y1 > y2, "down the page is a higher number"
    assert (x2 - x1) / (x1 - x0) == pytest.approx(2, abs=0.01)
    assert (y1 - y2) / (y0 - y1) == pytest.approx(2, abs=0.01)


def test_lines_differ_by_dash_and_not_by_colour_alone() -> None:
    drawn = lines("t", "", {"a": [(0, 1.0), (1, 2.0)], "b": [(0, 2.0), (1, 1.0)]})
    assert [found.get("class") for found in elements(drawn, "polyline")] == ["line series-1", "line series-2"]


def test_no_numbers_and_one_number_are_drawn_too() -> None:
    assert "no numbers" in lines("t", "", {"a": []})
    assert len(elements(lines("t", "", {"a": [(5, 1.0)]}), "circle")) == 1


def test_many_points_are_put_together_as_means() -> None:
    found = thinned([(float(x), float(x)) for x in range(1000)], most=100)
    assert len(found) == 100
    assert found[0] == (4.5, 4.5)
    assert sum(value for _, value in found) / 100 == pytest.approx(499.5)


def test_a_dot_lies_between_the_ends_of_its_interval() -> None:
    drawn = dots("t", "", [DotRow("a", [[Dot(50, "after", 40, 70)]])], "percent")
    (dot,) = numbers(elements(drawn, "circle"), "cx")
    whisker = elements(drawn, "line", "whisker after")[0]
    low, high = float(whisker.get("x1", 0)), float(whisker.get("x2", 0))
    assert (dot - low) / (high - low) == pytest.approx(1 / 3, abs=0.01)


def test_the_line_at_zero_is_in_sight_where_it_means_something() -> None:
    drawn = dots("t", "", [DotRow("a", [[Dot(50, "after", 40, 70)]])], "points", zero="baseline")
    (level,) = elements(drawn, "line", "level")
    (dot,) = numbers(elements(drawn, "circle"), "cx")
    assert float(level.get("x1", 0)) < dot


def test_a_map_has_a_circle_or_a_triangle_for_every_point() -> None:
    places = [(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]
    drawn = scatter("t", "", places, [False, True, True], ["<a>", "b", "c"])
    assert len(elements(drawn, "circle")) == 1
    assert len(elements(drawn, "path")) == 2
    assert [found.text for found in elements(drawn, "title")][1:] == ["<a>", "b", "c"]


def test_points_in_one_place_are_drawn() -> None:
    assert "nan" not in scatter("t", "", [(1.0, 1.0)] * 3, [True] * 3, ["a"] * 3)


def test_cells_are_the_darker_the_larger_their_share_of_the_row() -> None:
    drawn = heat_map("t", "", ["A", "B"], ["A", "B", "nothing"], [[6, 2, 0], [1, 1, None]], "taken for", "is")
    shades = numbers(elements(drawn, "rect"), "fill-opacity")
    assert len(shades) == 5, "what cannot be has no cell"
    assert shades[0] > shades[3] > shades[1] > shades[2]
    assert shades[3] == shades[4]


def test_every_chart_has_a_name_and_a_description() -> None:
    for drawn in (
        bars("name", "told", [BarRow("a", [1.0])], {"F1": "after"}, 1.0),
        lines("name", "told", {"a": [(0, 1.0)]}),
        dots("name", "told", [DotRow("a", [[Dot(1, "seed")]])], "percent"),
        scatter("name", "told", [(0.0, 0.0)], [True], ["a"]),
        heat_map("name", "told", ["a"], ["a"], [[1]], "x", "y"),
    ):
        root = ET.fromstring(drawn)
        assert (root.get("role"), root[0].tag, root[0].text) == ("img", "title", "name")
        assert (root[1].tag, root[1].text) == ("desc", "told")


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 8))
def test_ticks_are_few_inside_and_evenly_apart(low: float, width: float, most: int) -> None:
    scale = Scale(low, low + width, 0.0, 100.0)
    if scale.high - scale.low < abs(low) * 1e-9:
        return
    ticks = scale.ticks(most)
    assert len(ticks) <= most + 1
    air = 1e-6 * width + 1e-9 * abs(low)
    assert all(low - air <= tick <= low + width + air for tick in ticks)
    steps = [after - before for before, after in pairwise(ticks)]
    assert all(step == pytest.approx(steps[0], rel=1e-3, abs=air) for step in steps)


def test_a_scale_without_width_puts_everything_in_the_middle() -> None:
    assert Scale(3.0, 3.0, 0.0, 10.0)(3.0) == 5.0
    assert Scale(3.0, 3.0, 0.0, 10.0).ticks() == [3.0]
    low, high = padded([2.0, 2.0])
    assert low < 2.0 < high


def test_a_line_has_a_gap_where_a_number_is_missing() -> None:
    drawn = lines("t", "", {"a": [(0, 1.0), (1, 2.0), (2, None), (3, 1.0), (4, 2.0)]})
    assert [len((found.get("points") or "").split()) for found in elements(drawn, "polyline")] == [2, 2]


def test_ranges_and_the_line_beside_stand_at_their_values() -> None:
    points = [(1.0, 2.0), (2.0, 3.0)]
    ranges, beside = {"a": [(1.0, 1.0, 3.0)]}, {"a": [(1.0, 1.5), (2.0, 2.5)]}
    drawn = lines("t", "", {"a": points}, ranges=ranges, beside=beside)
    thick, thin = elements(drawn, "polyline")
    assert (thick.get("class"), thin.get("class")) == ("line series-1", "line series-1 thin")
    (spread,) = elements(drawn, "line", "line series-1")
    ends = [tuple(map(float, pair.split(","))) for pair in (thick.get("points") or "").split()]
    low, high = float(spread.get("y1", 0)), float(spread.get("y2", 0))
    assert (low + high) / 2 == pytest.approx(ends[0][1], abs=0.01)


def test_a_mark_stands_where_a_bar_of_its_value_would_end() -> None:
    drawn = bars("t", "", [BarRow("a", [10.0], marks=[20.0]), BarRow("b", [20.0])], {"F1": "after"}, 20.0)
    bar = elements(drawn, "rect")[1]
    (mark,) = elements(drawn, "line", "mean")
    assert float(mark.get("x1", 0)) == pytest.approx(float(bar.get("x", 0)) + float(bar.get("width", 0)), abs=0.02)


def test_with_a_scale_a_cell_is_the_darker_the_nearer_its_upper_end() -> None:
    drawn = heat_map("t", "", ["a"], ["x", "y"], [[0.25, 0.75]], scale=(0.0, 1.0), digits=2)
    assert numbers(elements(drawn, "rect"), "fill-opacity") == pytest.approx([0.18, 0.39], abs=0.011)
    assert {"0.25", "0.75"} <= {element.text for element in elements(drawn, "text")}
