"""The leaderboard: parts that share no sentence, jobs that are found again, a race out of finished runs."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from acclimate.data.corpus import Corpus
from written_sets import written

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import leaderboard
import targets
from leaderboard_auto import Field, auto_rows, choice, fields_of, regret_table, with_agreement
from leaderboard_jobs import EVERY, MODELS, PLAIN, Job, Run, answers_file, do, job_for, job_of, keep_answers, keep_tags
from leaderboard_tables import tables, variant_name
from targets import drawn_from, parts_with_judges

TRAINING = {"updates": 2, "sentences_per_batch": 4, "learning_rate": 1e-3}


@pytest.fixture
def folder(tmp_path: Path, make_corpus: Callable[..., Corpus], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source, a target with test sentences alone, one without dev, and one with a short train part."""
    monkeypatch.setattr(targets, "DEV", 5)
    monkeypatch.setattr(targets, "JUDGES", 6)
    monkeypatch.setattr(targets, "MAPS", {})
    sizes = {
        "conll2003": {"train": 30, "dev": 6},
        "scitech": {"test": 45},
        "fin": {"train": 40, "test": 8},
        "wikigold": {"train": 20, "dev": 25, "test": 8},
    }
    return written(tmp_path / "data", sizes, make_corpus)


def bodies(corpus: Corpus) -> set[tuple[str, ...]]:
    return {sentence.words for sentence in corpus}


@pytest.mark.parametrize("target", ["scitech", "fin", "wikigold"])
def test_dev_judges_and_text_to_learn_from_share_no_sentence(folder: Path, target: str) -> None:
    parts = parts_with_judges(str(folder), target, None, True)
    learnt = bodies(parts["pool"]) | bodies(parts["text"])
    if target != "wikigold":  # its parts are those of its files
        assert not learnt & (bodies(parts["dev"]) | bodies(parts["judges"]))
    assert not bodies(parts["dev"]) & bodies(parts["judges"])
    assert not bodies(parts["judges"]) & bodies(parts["text"])
    assert not parts["text"].is_labelled
    assert (len(parts["text"]) > 0) == (target == "wikigold")


def test_parts_are_the_same_sentences_with_and_without_types(folder: Path) -> None:
    typed, typeless = (parts_with_judges(str(folder), "fin", None, typed) for typed in (True, False))
    for part, corpus in typed.items():
        assert [one.words for one in corpus] == [one.words for one in typeless[part]]
    assert len(typeless["pool"].labels) == 1


def test_with_more_text_the_whole_pool_may_be_labelled(make_corpus: Callable[..., Corpus]) -> None:
    pool, text = make_corpus(10, seed=1), make_corpus(4, seed=2).unlabelled()
    few, rest = drawn_from(pool, 100, 1, text)
    assert (len(few), bodies(rest)) == (10, bodies(text))
    few, rest = drawn_from(pool, 100, 1)
    assert (len(few), len(rest)) == (5, 5)
    assert not rest.is_labelled


def options(folder: Path, out: Path, labels: int, models: Sequence[str] = tuple(MODELS)) -> Namespace:
    shown = {"labels": [labels], "typing": [True], "targets": ["scitech", "fin"], "models": models, "changes": {}}
    return Namespace(data=str(folder), out=str(out), limit=None, against=None, selectors=["entropy"], **shown)


LINES = [("source-only", 0), ("self-training", 0), ("datnet", 0), ("datnet", 6), (PLAIN, 6)]


@pytest.mark.parametrize(("model", "labels"), LINES)
def test_a_job_gives_rows_that_are_found_again(
    folder: Path, tmp_path: Path, bert: str, model: str, labels: int
) -> None:
    job = replace(job_for("main", "fin", labels, True, model), seed=1)
    run = Run(str(folder), str(tmp_path / "out"), bert, TRAINING, ("entropy", "source-dev"), None)
    rows = do(run, job)
    assert all(job_of(row) == job for row in rows)
    assert all(row["borders"] >= row["f1"] for row in rows)  # with no type that could be wrong
    assert [row["tested"] for row in rows] == (["scitech", "wikigold", "fin"] if model == "source-only" else ["fin"])
    said = set(rows[0]["selectors"])
    assert said == (set() if model == PLAIN else {"entropy", "source-dev"})
    assert rows[0]["updates"] == (2 + 2 * 1 if model == "self-training" else 2)  # the rounds are a quarter of two
    assert f"| {model} |" in tables(rows, options(folder, tmp_path / "out", labels))


def test_who_learns_nothing_of_the_target_is_trained_once_for_all() -> None:
    off = tuple(f"{name}=false" for name in leaderboard.SWITCHES)
    assert job_for("main", "fin", 0, True, "mat").target == EVERY
    assert job_for("main", "fin", 100, True, "mat").target == "fin"
    assert job_for("main", "fin", 0, True, "acclimate").target == "fin"
    assert job_for("variants", "fin", 0, True, "acclimate", off).target == EVERY
    assert job_for("variants", "fin", 0, True, "acclimate", (*off[1:], "tuning=true")).target == "fin"


def test_variants_are_not_tested(folder: Path, tmp_path: Path, bert: str) -> None:
    run = Run(str(folder), str(tmp_path / "out"), bert, TRAINING, (), None)
    off = tuple(f"{name}=false" for name in leaderboard.SWITCHES)
    (row,) = do(run, Job("variants", "fin", 6, True, "acclimate", off, 1))
    assert "f1" not in row
    assert "judges" in row
    assert not (tmp_path / "out" / "tags").exists()
    assert variant_name(row["changes"]) == "nothing"


def test_a_variant_is_called_by_what_is_on_and_not_by_what_all_have() -> None:
    changes = ("noise=true", "tuning=false", "anchors=true", "rounds=4", "domain_tuning.updates=600")
    assert variant_name(changes, ("domain_tuning.updates=600",)) == "noise, anchors, rounds=4"
    given = Namespace(changes={"acclimate": ("domain_tuning.updates=600", "rounds=3")})
    assert leaderboard.with_options(("rounds=4",), given) == ("rounds=4", "domain_tuning.updates=600")


def row(model: str, f1: float, value: float | None, dev: float = 0.0, seed: int = 1) -> dict[str, Any]:
    job = Job("main", "fin", 0, True, model, (), seed)
    facts = {
        "f1": f1,
        "borders": f1 + 1,
        "target_dev": dev,
        "judges": f1,
        "selectors": {"entropy": value},
        "seconds": 1.0,
        "updates": 10,
    }
    return {**asdict(job), "tested": "fin", **facts}


def test_the_judge_decides_the_race_and_not_the_test() -> None:
    rows = [row("source-only", 50, 0.1), row("mat", 40, 0.9), row("mslm", 70, 0.2, dev=99)]
    assert choice(rows, "entropy")["model"] == "mat"
    assert choice(rows, "target dev")["model"] == "mslm"
    assert choice([row("source-only", 1, None), row("mat", 2, None)], "entropy")["model"] == "source-only"


def test_a_race_with_a_missing_recipe_is_none_and_plain_training_takes_no_part() -> None:
    rows = [row("source-only", 50, 0.1), row("mat", 40, 0.9), row("source-only", 50, 0.1, seed=2), row(PLAIN, 90, 1)]
    (field,) = fields_of(rows, ["fin"], ["source-only", PLAIN, "mat"])
    assert [one["model"] for one in field.rows] == ["source-only", "mat"]
    assert field.seed == 1


def test_regret_is_the_distance_to_the_best_candidate() -> None:
    field = Field("fin", 1, (row("source-only", 50, 0.1), row("mat", 40, 0.9), row("mslm", 70, 0.2)))
    said = regret_table([field], 0, ["entropy"])
    assert "| entropy | 30.00 | 30.00 | mat 1 |" in said
    assert "| always source-only | 20.00 | 20.00 | source-only 1 |" in said
    assert "| by lot | 16.67 | 16.67 |  |" in said
    assert "| oracle's F1 | 70.00 | 70.00 | mslm 1 |" in said


def test_regret_on_judges_does_not_look_at_the_test() -> None:
    rows = [{**row("source-only", 50, 0.1), "judges": 8.0}, {**row("mat", 40, 0.9), "judges": 9.0}]
    assert "| entropy | 0.00 | 0.00 | mat 1 |" in regret_table([Field("fin", 1, tuple(rows))], 0, ["entropy"], "judges")


def test_agreement_is_asked_of_candidates_that_answered_on_the_same_text(tmp_path: Path) -> None:
    rows = [row("source-only", 50, 0.1), *(row(name, 40, 0.9) | {"labels": 9} for name in ("mat", "mslm", "pdaln"))]
    said = {"source-only": ["O", "O"], "mat": ["B-PER", "O"], "mslm": ["B-PER", "O"], "pdaln": ["O", "B-PER"]}
    for each in rows:
        keep_tags(answers_file(str(tmp_path), "fin", job_of(each)), [said[each["model"]]])
    found = with_agreement(Field("fin", 1, tuple(rows)), str(tmp_path))
    values = {each["model"]: each["selectors"]["agreement"] for each in found.rows}
    assert values == {"source-only": None, "mat": 0.5, "mslm": 0.5, "pdaln": 0.0}


def test_rows_without_their_answers_keep_what_was_said_and_have_no_marks(folder: Path, tmp_path: Path) -> None:
    rows = [row(model, f1, f1) for model, f1 in (("source-only", 10), ("mat", 90))]
    rows = [{**one, "selectors": {"agreement": one["f1"]}} for one in rows]
    kept = with_agreement(Field("fin", 1, tuple(rows)), str(tmp_path))
    assert [one["selectors"]["agreement"] for one in kept.rows] == [10, 90]
    said = tables(rows, options(folder, tmp_path, 0, ["source-only", "mat"]))
    assert "| mat | **90.00** | 10 | 1 |" in said


def test_auto_costs_what_all_candidates_cost() -> None:
    rows = [row("source-only", 50, 0.1, dev=1), row("mat", 40, 0.9, dev=2)]
    (found,) = auto_rows([Field("fin", 1, tuple(rows))], labels=100)
    assert (found["line"], found["model"], found["updates"], found["seconds"]) == ("auto", "mat", 20, 2.0)


def test_a_gain_that_is_sure_has_a_mark_and_an_unsure_one_has_none(folder: Path, tmp_path: Path) -> None:
    rows = []
    for target, model in product(["scitech", "fin"], ["source-only", "mat", "mslm"]):
        gold = parts_with_judges(str(folder), target, None, True)["test"]
        none = gold.with_tags([["O"] * len(sentence) for sentence in gold])
        for seed in (1, 2):
            job = Job("main", target, 0, True, model, (), seed)
            keep_answers(str(tmp_path), target, job, gold if model == "mat" else none)
            found = row(model, 100.0 * (model == "mat"), None, seed=seed)
            rows.append({**found, **asdict(job), "tested": target, "judges": 1.0})
    said = tables(rows, options(folder, tmp_path, 0, ["source-only", "mat", "mslm"]))
    assert "| mat | **100.00 ± 0.00**\\* | **100.00 ± 0.00**\\* | **100.00 ± 0.00**\\* | 10 | 1 |" in said
    assert "| mslm | 0.00 ± 0.00 | 0.00 ± 0.00 | 0.00 ± 0.00 | 10 | 1 |" in said
    assert "| auto | 0.00 ± 0.00 | 0.00 ± 0.00 | 0.00 ± 0.00 | 30 | 3 |" in said  # nobody could judge: source-only
    given = options(folder, tmp_path, 0, ["source-only", "mat", "mslm"])
    given.against = "mat"
    assert "| mslm | 0.00 ± 0.00\\* | 0.00 ± 0.00\\* | 0.00 ± 0.00\\* | 10 | 1 |" in tables(rows, given)


def test_the_run_without_labels_stands_beside_those_with_labels_and_others_do_not(folder: Path, tmp_path: Path) -> None:
    rows = [{**row(model, 50, 1), "judges": 1.0} for model in ("source-only", "mat")]
    said = tables(rows, options(folder, tmp_path, 100, ["source-only", "mat"]))
    assert "| source-only | **50.00** | 10 | 1 |" in said
    assert "| mat |" not in said
    assert "| auto |" not in said
