"""What the benchmarks of many jobs rest on: no result is lost, none is mixed up, none is made twice."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate.data.corpus import Corpus
from acclimate.model.tagger import Tagger
from acclimate.runs.train import adapt
from grid_jobs import Job, double, job_of

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from grid import file_name, markdown, read_rows, run_grid, run_jobs, same_settings, told
from one_recipe import train


def options(out: Path, seeds: str, table: Path | None = None) -> Namespace:
    return Namespace(out=str(out), seeds=seeds, jobs=1, minutes=None, table=table)


def test_a_job_that_fails_leaves_the_others_their_results(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.jsonl"
    rows = run_jobs(['[{"a": 1}]', "no JSON", '[{"a": 2}]'], json.loads, results)
    assert rows == read_rows(results) == [{"a": 1}, {"a": 2}]
    assert "failed: no JSON: JSONDecodeError" in capfd.readouterr().err


def test_jobs_of_a_later_turn_wait_for_all_of_an_earlier_one(tmp_path: Path) -> None:
    jobs = ['[{"turn": 1}]', "no JSON", '[{"turn": 0}]']
    rows = run_jobs(jobs, json.loads, tmp_path / "results.jsonl", 2, turn=lambda job: int('"turn": 1' in job))
    assert rows == [{"turn": 0}, {"turn": 1}]


def test_what_is_done_is_not_done_again_and_the_table_has_all(tmp_path: Path) -> None:
    seen: list[int] = []

    def tables(rows: list[dict[str, Any]]) -> str:
        seen.append(len(rows))
        return str(sorted((row["name"], row["seed"], row["value"]) for row in rows))

    run_grid([Job("a"), Job("b")], double, options(tmp_path, "1"), {}, job_of, tables)
    run_grid([Job("a"), Job("b")], double, options(tmp_path, "1,2", tmp_path / "table.md"), {}, job_of, tables)
    assert (tmp_path / "table.md").read_text() == "[('a', 1, 2), ('a', 2, 4), ('b', 1, 2), ('b', 2, 4)]\n"
    assert len(read_rows(tmp_path / "results.jsonl")) == 4
    assert seen == [2, 3, 4, 4]


def test_results_of_other_settings_are_not_mixed_in(tmp_path: Path) -> None:
    same_settings(tmp_path, {"updates": 5, "spans": (2, 3)})
    same_settings(tmp_path, {"updates": 5, "spans": (2, 3)})
    with pytest.raises(SystemExit, match="other settings"):
        same_settings(tmp_path, {"updates": 6, "spans": (2, 3)})


def test_a_row_that_was_cut_off_is_taken_out(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    results.write_text('{"a": 1}\n{"a": ')
    assert read_rows(results) == [{"a": 1}]
    assert results.read_text() == '{"a": 1}\n'


def test_cells_and_tables() -> None:
    assert [told(values) for values in ([], [1.0], [1.0, 3.0])] == ["", "1.00", "2.00 ± 1.41"]
    assert markdown(["", "x"], [["a", 1]]) == "|  | x |\n|---|---:|\n| a | 1 |"
    assert file_name("a, b") != file_name("a - b")


@pytest.mark.parametrize(("recipe", "options"), [("target-only", {}), ("datnet", {"form": "P"}), ("mat", {})])
def test_a_recipe_alone_gives_the_weights_that_adapt_gives(
    recipe: str, options: dict[str, Any], news: Corpus, make_corpus: Callable[..., Corpus], build: Callable[..., Tagger]
) -> None:
    few, dev = make_corpus(6, seed=2), make_corpus(8, seed=3)
    training = {"updates": 4, "evaluate_every": 2, "sentences_per_batch": 4}
    one, other = (build(text=few, labels=news.labels) for _ in range(2))
    given: dict[str, Any] = {"source_dev": dev} if recipe == "mat" else {"target_labelled": few, "target_dev": dev}
    adapt(one, news, None, recipe, training=training, seed=5, **given, **options)
    train(other, recipe, news, given.get("target_labelled"), dev, training=training, options=options, seed=5)
    assert all(map(torch.equal, one.state_dict().values(), other.state_dict().values()))


def test_a_recipe_that_goes_on_from_plain_training_begins_with_it(
    news: Corpus, make_corpus: Callable[..., Corpus], build: Callable[..., Tagger]
) -> None:
    text, dev = make_corpus(9, seed=2), make_corpus(8, seed=3)
    training = {"updates": 4, "sentences_per_batch": 4}
    one, other = (build(text=news, labels=news.labels) for _ in range(2))
    adapt(one, news, text, "self-training", source_dev=dev, training=training, seed=5)
    done = train(other, "self-training", news, None, dev, text=text, training=training, seed=5)
    assert [summary["stage"] for summary in done.summaries] == ["source", "round-1", "round-2"]
    assert all(map(torch.equal, one.state_dict().values(), other.state_dict().values()))
