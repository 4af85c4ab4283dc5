"""Lines run along numbers, and a panel is of one name."""

from __future__ import annotations

from acclimate.reproduction.results import Figure, Panel, Reproduction, by_sweep, panels
from acclimate.reproduction.table import cells_of, find_table


def panel_of(table_id: str) -> Panel:
    table = find_table(table_id)
    figures = [Figure(cell.row, cell.column, "span f1", "span f1", (1.0,)) for cell in cells_of(table)]
    (panel,) = panels(Reproduction(table, "full", (1,), (), tuple(figures)))
    return panel


def test_a_coefficient_has_a_panel_of_its_own_and_a_target_a_line() -> None:
    found = by_sweep(panel_of("pdaln-figure3"))
    assert [(panel.title, panel.across) for panel in found] == [
        (f"span f1, {name}", name) for name in ("gamma", "alpha", "alpha'", "beta")
    ]
    assert found[0].places == ("0.1", "0.3", "0.5", "0.7", "0.75", "0.9")
    assert list(found[0].lines) == ["SciTech", "WNUT2016", "Webpage", "Wikigold"]
    assert found[2].lines["Webpage"]["0.5"].row == "alpha' 0.5"


def test_targets_with_amounts_have_a_panel_each_and_no_line_runs_from_one_to_the_other() -> None:
    found = by_sweep(panel_of("datnet-table6"))
    assert [panel.title for panel in found] == ["span f1, Spanish", "span f1, WNUT-2016"]
    assert all(panel.places == ("10", "50", "100", "200", "500", "1000") for panel in found)
    assert found[1].lines["AT"]["50"].column == "WNUT-2016 50"


def test_numbers_without_a_name_and_names_without_a_number_stay_one_panel() -> None:
    figure = Figure("r 0.1", "c", "m", "m", (1.0,))
    plain = Panel("m", "updates", ("10", "20"), {"r 0.1": {"10": figure}})
    words = Panel("m", "targets", ("here", "there 2"), {"base": {"here": figure}})
    unnamed = Panel("m", "", ("a 1",), {"r 0.1": {"a 1": figure}})
    assert [by_sweep(panel) for panel in (plain, words, unnamed)] == [[plain], [words], [unnamed]]
