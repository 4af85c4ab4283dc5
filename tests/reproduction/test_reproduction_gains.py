"""Rows against each other: tests, and their mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from acclimate.data.corpus import Corpus
from acclimate.evaluation.significance import holm
from acclimate.reproduction.results import Figure, Reproduction, gains
from acclimate.reproduction.table import cells_of, find_table
from acclimate.reproduction.writing import change_records, figure_records, markdown


@dataclass(frozen=True)
class Ready:
    """Stands in for a finished run."""

    test: Corpus
    predicted: Corpus


@pytest.fixture
def found(news: Corpus) -> Reproduction:
    """A table in which one row finds everything, and the row that is compared with it nothing."""
    table = find_table("pdaln-table2")
    nothing = news.with_tags([["O"] * len(sentence) for sentence in news])
    finished: dict[Any, Any] = {}
    for column in ("SciTech", "Wikigold"):
        finished["PDALN", column, 1] = Ready(news, news)
        finished["w/o L_c", column, 1] = Ready(news, nothing)
    return Reproduction(table, "full", (1,), (), (), tuple(gains(table, cells_of(table), (1,), finished)))


def test_p_values_are_corrected_for_their_number(found: Reproduction) -> None:
    assert [gain.p_holm for gain in found.gains] == holm([gain.test.bootstrap_p for gain in found.gains])
    assert all(gain.p_holm > gain.test.bootstrap_p for gain in found.gains)


def test_the_page_has_the_changes_and_their_mean(found: Reproduction) -> None:
    page = markdown(found)
    assert "| w/o L_c, SciTech | PDALN | -100.00 | -100.00 to -100.00 |" in page
    assert "| w/o L_c, mean of columns | PDALN | -100.00 |" in page


def test_a_spreadsheet_has_the_changes_and_what_the_paper_prints_of_them(found: Reproduction) -> None:
    rows = [(row["row"], row["column"], row["figure"], row["mean"], row["paper"]) for row in change_records(found)]
    assert rows == [
        ("w/o L_c", "SciTech", "against PDALN", -100.0, "-0.56 (-0.56 / -0.57)"),
        ("w/o L_c", "Wikigold", "against PDALN", -100.0, "-1.20 (-1.22 / -1.18)"),
        ("w/o L_c", "mean of columns", "against PDALN", -100.0, None),
    ]
    figures = next(figure_records(replace(found, figures=(Figure("PDALN", "SciTech", "span f1", "span f1", (1.0,)),))))
    assert list(figures) == list(next(change_records(found)))
