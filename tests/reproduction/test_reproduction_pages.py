"""A table's page states the settings that its trainings had, whatever was set and at any scale."""

from __future__ import annotations

import re

import pytest

from acclimate.reproduction.results import Figure, Reproduction
from acclimate.reproduction.table import Cell, Scale, all_tables, cells_of, find_table, shared_settings
from acclimate.reproduction.writing import markdown

FIGURE = Figure("MSLM", "BC2GM", "span f1", "span f1", (50.0,))


def page(cells: list[Cell], table: str, scale: Scale = "full", skipped: tuple[str, ...] = ()) -> str:
    return markdown(Reproduction(find_table(table), scale, (1,), tuple(cells), (FIGURE,), skipped=skipped))


@pytest.mark.parametrize("table", ["mlm4uda-table2", "mslm-table3", "pdaln-table2"])
def test_the_encoder_that_was_set_is_the_one_that_the_page_names(table: str) -> None:
    told = page(cells_of(find_table(table), assignments=["tagger.encoder=bert-base-uncased"]), table)
    assert "`tagger.encoder=bert-base-uncased`" in told
    assert "acclimate-mini" not in told
    assert "`tagger.encoder=acclimate-mini`" in page(cells_of(find_table(table)), table)


def test_the_length_of_training_is_told_as_it_was_at_each_scale() -> None:
    table = find_table("mslm-table7")
    full, small = (page(cells_of(table, scale), "mslm-table7", scale) for scale in ("full", "small"))
    assert "`training.epochs=20 or 10 or 30 or 50`" in full
    assert "training.updates" not in full
    assert f"`training.updates={cells_of(table, 'small')[0].settings.training.updates}`" in small
    assert "training.epochs" not in small
    assert "`training.optimizer=adam or sgd`" in full


def test_settings_of_cells_that_were_left_out_are_not_told() -> None:
    cells = cells_of(find_table("pdaln-table1"))
    lstm = tuple(cell.name for cell in cells if cell.settings.tagger.encoder == "character-cnn-lstm")
    assert "`tagger.encoder=character-cnn-lstm or acclimate-mini`" in page(cells, "pdaln-table1")
    assert "`tagger.encoder=acclimate-mini`" in page(cells, "pdaln-table1", skipped=lstm)


def test_settings_of_an_lstm_are_told_of_cells_that_have_one() -> None:
    assert shared_settings(cells_of(find_table("mat-table1")))["tagger.lstm.lstm_width"] == "256"
    assert not [name for name in shared_settings(cells_of(find_table("mslm-table3"))) if name.startswith("tagger.lstm")]


def test_a_table_that_trains_nothing_tells_no_settings() -> None:
    assert shared_settings(cells_of(find_table("mlm4uda-table1"))) == {}


def test_no_remark_states_by_hand_what_can_be_set() -> None:
    for table in all_tables().values():
        for remark in (one for one in table.differs if not one.startswith("In the paper: ")):
            assert "acclimate-mini" not in remark, f"{table.name}: {remark}"
            assert not re.search(r"\d (updates|epochs|passes)\b", remark), f"{table.name}: {remark}"


def test_the_page_of_perplexities_says_whose_head_was_not_trained_along() -> None:
    assert "was not trained along" in page(cells_of(find_table("mslm-table4")), "mslm-table4")
