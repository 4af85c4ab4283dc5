"""The runner of MSLM's tables: its data, its jobs, and who is compared with whom."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from acclimate.data.corpus import Corpus
from acclimate.data.writing import write_corpus

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import mslm
import mslm_jobs
import mslm_page
import mslm_tables
from mslm_jobs import Job, Run, do, job_of, keep_answers, parts_of

QUICK = {"updates": 2, "evaluate_every": 1, "sentences_per_batch": 4, "learning_rate": 1e-3}


@pytest.fixture
def folder(tmp_path: Path, make_corpus: Callable[..., Corpus], monkeypatch: pytest.MonkeyPatch) -> Path:
    """EBM-NLP's layout: dev and test alone."""
    monkeypatch.setattr(mslm_jobs, "HELD_OUT", 5)
    place = tmp_path / "data" / "ebm_nlp_outcomes"
    place.mkdir(parents=True)
    write_corpus(make_corpus(40, seed=1), place / "dev.conll")
    write_corpus(make_corpus(9, seed=2), place / "test.conll")
    return place.parent


def options(folder: Path, out: Path, part: str) -> Namespace:
    return Namespace(data=str(folder), out=str(out), limit=None, part=part.split(","), grid_methods=["MSLM"])


def test_a_set_without_train_is_learnt_from_its_dev_part(folder: Path) -> None:
    parts = parts_of(str(folder), "ebm_nlp_outcomes", None)
    assert len(parts["train"]) + len(parts["dev"]) == 40
    assert 4 <= len(parts["dev"]) <= 6
    assert not {sentence.words for sentence in parts["train"]} & {sentence.words for sentence in parts["dev"]}


@pytest.mark.parametrize("method", ["vanilla", "heads", "MSLM", "PMI"])
def test_a_job_gives_a_row_that_is_found_again(folder: Path, tmp_path: Path, bert: str, method: str) -> None:
    job = Job("ebm_nlp_outcomes", bert, method, seed=1)
    (row,) = do(Run(str(folder), str(tmp_path), QUICK, {}, None), job)
    assert job_of(row) == job
    assert [look[0] for look in row["looks"]] == [1, 2]
    assert row["perplexity"] > 1
    assert (row["weights"] is None) == (method != "MSLM")
    said = mslm_tables.tables([row], options(folder, tmp_path, ",".join(mslm.PARTS)))
    assert f"| {method}, {bert} |" in said


def test_the_language_model_is_asked_as_training_left_it(folder: Path, tmp_path: Path, bert: str) -> None:
    run = Run(str(folder), str(tmp_path), {**QUICK, "updates": 30, "learning_rate": 1e-2}, {"blm": 0.3}, None)
    found = {
        method: do(run, Job("ebm_nlp_outcomes", bert, method, blm=0.3))[0]["perplexity"]
        for method in ("untouched", "MSLM")
    }
    assert found["MSLM"] < found["untouched"]


def rows_of(out: Path, folder: Path, **answers: list[bool]) -> list[dict[str, Any]]:
    """Taggers that find all spans of a seed, or none."""
    gold = parts_of(str(folder), "ebm_nlp_outcomes", None)["test"]
    none = gold.with_tags([["O"] * len(sentence) for sentence in gold])
    rows = []
    for method, seeds in answers.items():
        for seed, finds in enumerate(seeds):
            job = Job("ebm_nlp_outcomes", "acclimate-mini", method, seed=seed)
            keep_answers(str(out), job, gold if finds else none, [])
            rows.append({**asdict(job), "em": 100.0 * finds})
    return rows


def test_a_gain_over_vanilla_is_positive_and_counts_all_seeds(folder: Path, tmp_path: Path) -> None:
    rows = rows_of(tmp_path, folder, vanilla=[False, False], MSLM=[True, False])
    said = mslm_tables.score_table(rows, "em", options(folder, tmp_path, "main"))
    assert "| MSLM, acclimate-mini | 50.00 ± 70.71 (+50.00, p 0.001) |" in said
    assert "| vanilla, acclimate-mini | 0.00 ± 0.00 |" in said


def test_seeds_that_only_one_side_has_are_not_compared(folder: Path, tmp_path: Path) -> None:
    rows = rows_of(tmp_path, folder, vanilla=[True], MSLM=[True, False])
    said = mslm_tables.score_table(rows, "em", options(folder, tmp_path, "main"))
    assert "| MSLM, acclimate-mini | 50.00 ± 70.71 (+0.00, p 1.000) |" in said


@pytest.mark.parametrize(("elm", "told"), [(0.5, "same training: what a GPU's rounding does"), (0.6, "p 0.001")])
def test_even_weights_and_none_are_told_to_be_one_training(folder: Path, tmp_path: Path, elm: float, told: str) -> None:
    rows = rows_of(tmp_path, folder, **{"MSLM": [True], mslm_tables.UNWEIGHTED: [False]})
    rows = [{**row, "weights": {"elm": elm, "blm": 1 - elm} if row["method"] == "MSLM" else None} for row in rows]
    said = mslm_tables.weight_table(rows, options(folder, tmp_path, "weights"))
    assert told in said
    assert ("p 0." in said) == (elm != 0.5)


def test_parts_share_their_jobs() -> None:
    given = Namespace(sets=[], encoders=["acclimate-mini"], methods=list(mslm_jobs.METHODS), grid_methods=["MSLM"])
    plans = {part: set(mslm.planned(part, given)) for part in mslm.PARTS}
    assert plans["curves"] | plans["confidence"] < plans["main"]
    assert plans["lengths"] - plans["main"] < plans["grid"]
    assert len(plans["grid"]) == 2 * 16
    assert len(plans["budgets"]) == 2 * 3 * 4


def test_the_page_has_the_tables_of_the_rows() -> None:
    page = (mslm_page.RESULTS / "mslm.md").read_text(encoding="utf-8")
    tables = mslm_page.tables(mslm_page.read_rows(mslm_page.RESULTS / "mslm.jsonl"))
    assert mslm_page.with_tables(page, tables) == page, "run python benchmarks/mslm_page.py"


def test_a_page_with_another_number_of_tables_is_refused() -> None:
    with pytest.raises(SystemExit, match="has 1 tables, and there are 2"):
        mslm_page.with_tables("text\n\n| a |\n|---|\n\nmore\n", ["| b |", "| c |"])
