"""Figures of a table: beside the paper's, in tables and in pictures."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.writing import write_corpus
from acclimate.reproduction.datasets import Datasets
from acclimate.reproduction.measures import MEASURES, STATISTICS, FocalSettings, OverlapSettings
from acclimate.reproduction.results import Figure, Reproduction, panels, printed, with_paper_only
from acclimate.reproduction.table import cells_of, find_table
from acclimate.reproduction.writing import figure_records, markdown


def page(*figures: Figure, scale: str = "full") -> str:
    return markdown(Reproduction(find_table("mat-table1"), scale, (1, 2), (), figures))  # type: ignore[arg-type]


def test_a_figure_is_told_as_mean_and_deviation_of_seeds() -> None:
    assert Figure("r", "c", "span f1", "span f1", (1.0, 3.0)).text == f"2.00 ± {math.sqrt(2):.2f}"
    assert Figure("r", "c", "span f1", "span f1", (1.0, 3.0), with_best=True).text == "2.00 ± 1.41 (best 3.00)"
    assert Figure("r", "c", "span f1", "span f1", (1.0,)).text == "1.00"
    assert Figure("r", "c", "epochs", "reaches", (math.nan,)).text == "-"


@pytest.mark.parametrize(
    ("printed_as", "drawn"),
    [
        ("91.20 ± 0.08", 91.2),
        (-0.56, -0.56),
        ("-0.56 (-0.56 / -0.57)", -0.56),
        ("1,088,503", 1088503),
        ("12.6k", 12600),
        ("4 h", None),
        ("batch 8", None),
    ],
)
def test_what_can_be_drawn_of_a_printed_number(printed_as: float | str, drawn: float | None) -> None:
    assert Figure("r", "c", "m", "m", paper=printed_as).paper_number == drawn


def test_the_paper_s_line_stands_below_ours_and_rivals_alone() -> None:
    shown = page(
        Figure("AT", "NER", "span f1", "span f1", (90.0, 92.0), "91.63 ± 0.07"),
        Figure("Flair", "NER", "span f1", "span f1", (), "93.09"),
    )
    lines = [line for line in shown.splitlines() if line.startswith("| ")]
    assert lines[1:] == ["| AT | 91.00 ± 1.41 |", "| AT (paper) | 91.63 ± 0.07 |", "| Flair (paper) | 93.09 |"]


def test_only_small_scale_is_called_small() -> None:
    figure = Figure("AT", "NER", "span f1", "span f1", (1.0,))
    assert "Small scale" in page(figure, scale="small")
    assert "Small scale" not in page(figure)


def test_a_measure_of_many_figures_has_a_panel_for_each_column_with_numbers_in_order() -> None:
    figures = [
        Figure(row, column, "density ratio", update, (0.5,))
        for row in ("random", "pos")
        for column in ("FIN", "WNUT2016")
        for update in ("100", "20")
    ]
    found = panels(Reproduction(find_table("mlm4uda-figure3"), "full", (1,), (), tuple(figures)))
    assert [(panel.title, panel.places) for panel in found] == [
        ("density ratio, WNUT2016", ("20", "100")),
        ("density ratio, FIN", ("20", "100")),
    ]


def test_rows_for_a_spreadsheet_have_every_seed() -> None:
    figure = Figure("AT", "NER", "span f1", "span f1", (1.0, 2.0), "3")
    row = next(figure_records(Reproduction(find_table("mat-table1"), "full", (1, 2), (), (figure,))))
    assert (row["mean"], row["runs"], row["values"], row["paper"]) == (1.5, 2, "1 2", "3")


def test_a_printed_number_is_of_the_first_figure_unless_it_has_a_name() -> None:
    numbers = {"r": {"c": 1.0, "d": {"recall": 2.0}}}
    assert printed(numbers, "r", "c", "anything") == 1.0
    assert printed(numbers, "r", "c", "anything", is_first=False) is None
    assert printed(numbers, "r", "d", "recall") == 2.0
    assert printed(numbers, "r", "d", "precision") is None
    assert printed(numbers, "x", "d", "recall") is None


def test_focal_weights_are_those_of_the_loss() -> None:
    weight = STATISTICS["focal weight"].of
    assert weight([], FocalSettings(chance=0.9, alpha=0.3)) == {"weight": pytest.approx(0.3 * 0.1**2)}
    assert weight([], FocalSettings(chance=0.2, alpha=0.3, of="target")) == {"weight": pytest.approx(0.7 * 0.2**2)}


def test_an_overlap_is_of_two_corpora(news: Corpus) -> None:
    with pytest.raises(InputError, match="of two corpora, not of 1"):
        STATISTICS["overlap"].of([news], OverlapSettings())


def test_a_set_without_dev_is_divided_and_nothing_is_lost(tmp_path: Path, make_corpus: object) -> None:
    from acclimate.data.reading import load_bundled

    whole = load_bundled("news").train + load_bundled("social").train + load_bundled("clinical").train
    (tmp_path / "conll2000_chunk").mkdir()
    write_corpus(whole, tmp_path / "conll2000_chunk" / "train.conll")
    sets = Datasets(tmp_path, small=False)
    dev, train = sets.require("conll2000_chunk", "dev"), sets.require("conll2000_chunk", "train")
    assert (len(dev), len(train)) == (1000, len(whole) - 1000)
    assert not {sentence.words for sentence in dev} & {sentence.words for sentence in train}
    assert sets.part("conll2000_chunk", "test") is None
    with pytest.raises(InputError, match="has no part test"):
        sets.require("conll2000_chunk", "test")


def test_a_map_renames_the_labels_of_a_set(tmp_path: Path) -> None:
    (tmp_path / "wnut2016").mkdir()
    (tmp_path / "wnut2016" / "test.conll").write_text("Paris B-geo-loc\nHilton B-company\n\n", encoding="utf-8")
    sets = Datasets(tmp_path, small=False)
    assert set(sets.require("wnut2016-conll", "test").labels) == {"LOC", "ORG"}
    assert set(sets.require("wnut2016", "test").labels) == {"geo-loc", "company"}


def test_measures_that_ask_the_learner_name_facts_that_are_known() -> None:
    from acclimate.reproduction.reproduce import _FACTS

    asked = {fact for measure in MEASURES.values() for fact in measure.facts}
    assert asked - {"tagger"} == set(_FACTS)


def test_what_only_the_paper_has_stands_under_the_measure_of_its_column() -> None:
    table = find_table("datnet-table11")
    found = with_paper_only(table, "full", cells_of(table), [])
    measures = {(figure.column, figure.measure) for figure in found}
    assert ("PTB-WSJ", "accuracy") in measures
    assert ("WNUT-2017", "span f1") in measures
    assert ("WNUT-2017", "accuracy") not in measures
    assert with_paper_only(table, "small", cells_of(table), []) == []
