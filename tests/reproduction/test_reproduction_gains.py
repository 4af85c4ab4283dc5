"""Rows against each other: what is tested, and what is one training under two names."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from acclimate.data.corpus import Corpus
from acclimate.reproduction.measures import Finished
from acclimate.reproduction.results import Figure, Gain, Reproduction, gains
from acclimate.reproduction.table import cells_of, find_table
from acclimate.reproduction.writing import SAME, change_records, figure_records, markdown

WITH, WITHOUT = "MSLM", "MSLM, no weights"
EVEN, UNEVEN = (0.5, 0.5), (0.6, 0.4)


@dataclass(frozen=True)
class Ready:
    """Stands in for a finished run."""

    test: Corpus
    predicted: Corpus
    mask_weights: tuple[float, float] | None


def gains_of(test: Corpus, weights: dict[str, list[Any]], *assignments: str) -> list[Gain]:
    """Table 6, in which the runs without weights find nothing. `weights`: by column, of each seed."""
    table = find_table("mslm-table6")
    nothing = test.with_tags([["O"] * len(sentence) for sentence in test])
    finished: dict[Any, Any] = {}
    for column, seeds in weights.items():
        for seed, found in enumerate(seeds, start=1):
            finished[WITH, column, seed] = Ready(test, test, found)
            finished[WITHOUT, column, seed] = Ready(test, nothing, EVEN)
    return gains(table, cells_of(table, assignments=assignments), (1, 2), finished)


def test_even_weights_in_every_seed_make_both_rows_one_training(news: Corpus) -> None:
    columns = {"BC2GM": [EVEN, EVEN], "JNLPBA": [EVEN, UNEVEN], "NCBI-disease": [UNEVEN], "BC5CDR-chem": [None]}
    found = {gain.column: gain.p_holm for gain in gains_of(news, columns)}
    assert found.pop("BC2GM") is None
    assert all(p is not None and p < 0.05 for p in found.values())
    assert len(found) == 3


def test_one_training_under_two_names_takes_no_part_in_the_correction(news: Corpus) -> None:
    alone = gains_of(news, {"JNLPBA": [UNEVEN]})
    beside = gains_of(news, {"BC2GM": [EVEN], "NCBI-disease": [EVEN], "JNLPBA": [UNEVEN]})
    assert [gain.p_holm for gain in beside if gain.p_holm is not None] == [gain.p_holm for gain in alone]


def test_rows_that_differ_in_more_are_two_trainings(news: Corpus) -> None:
    table = find_table("mslm-table6").model_copy(deep=True)
    table.rows[WITHOUT]["options"]["elm"] = 0.5
    nothing = news.with_tags([["O"] * len(sentence) for sentence in news])
    finished: Any = {
        (WITH, "BC2GM", 1): Ready(news, news, EVEN),
        (WITHOUT, "BC2GM", 1): Ready(news, nothing, EVEN),
    }
    (gain,) = gains(table, cells_of(table), (1,), finished)
    assert gain.p_holm is not None


def test_the_page_says_so_in_the_place_of_a_p_value(news: Corpus) -> None:
    found = gains_of(news, {"BC2GM": [EVEN], "JNLPBA": [UNEVEN], "NCBI-disease": [UNEVEN]})
    page = markdown(Reproduction(find_table("mslm-table6"), "full", (1,), (), (), tuple(found)))
    assert f"| {WITHOUT}, BC2GM | {WITH} | -100.00 |  | {SAME} |" in page
    assert page.count(SAME) == 1
    assert f"| {WITHOUT}, mean of columns | {WITH} | -100.00 |" in page


def test_a_spreadsheet_has_the_changes_and_what_the_paper_prints_of_them(news: Corpus) -> None:
    table = find_table("pdaln-table2")
    nothing = news.with_tags([["O"] * len(sentence) for sentence in news])
    finished: dict[Any, Any] = {}
    for column in ("SciTech", "Wikigold"):
        finished["PDALN", column, 1] = Ready(news, news, None)
        finished["w/o L_c", column, 1] = Ready(news, nothing, None)
    found = Reproduction(table, "full", (1,), (), (), tuple(gains(table, cells_of(table), (1,), finished)))
    rows = [(row["row"], row["column"], row["figure"], row["mean"], row["paper"]) for row in change_records(found)]
    assert rows == [
        ("w/o L_c", "SciTech", "against PDALN", -100.0, "-0.56 (-0.56 / -0.57)"),
        ("w/o L_c", "Wikigold", "against PDALN", -100.0, "-1.20 (-1.22 / -1.18)"),
        ("w/o L_c", "mean of columns", "against PDALN", -100.0, None),
    ]
    figures = next(figure_records(replace(found, figures=(Figure("PDALN", "SciTech", "span f1", "span f1", (1.0,)),))))
    assert list(figures) == list(next(change_records(found)))


@pytest.mark.parametrize(
    ("lines", "weights"),
    [
        (
            [{"kind": "evaluation"}, {"kind": "masks", "policy": "joint", "weights": {"elm": 0.6, "blm": 0.4}}],
            (0.6, 0.4),
        ),
        ([{"kind": "masks", "policy": "random", "rows": []}], None),  # domain tuning's have none
        ([], None),
    ],
)
def test_the_weights_of_a_run_stand_in_its_record(tmp_path: Path, lines: list[Any], weights: Any) -> None:
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert Finished(tmp_path, 1, None, Corpus(())).mask_weights == weights  # type: ignore[arg-type]
