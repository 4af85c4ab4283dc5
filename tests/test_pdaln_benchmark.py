"""The runner of PDALN's tables: who is scored on what, which trainings begin alike, what rounds do."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from acclimate.data.corpus import Corpus
from written_sets import written

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import pdaln
import pdaln_jobs
import targets
from grid import same_settings
from pdaln_jobs import BASE, FIRST_STAGE, PDALN, Job, Run, changes_of, do, in_good_order, job_of, settings_of
from pdaln_rounds import round_tables, variant_table

TRAINING = {"updates": 2, "evaluate_every": 1, "sentences_per_batch": 4, "learning_rate": 1e-3}
LABELS = 6


@pytest.fixture
def folder(tmp_path: Path, make_corpus: Callable[..., Corpus], monkeypatch: pytest.MonkeyPatch, bert: str) -> Path:
    """A source, a target with test sentences alone, and one with all parts."""
    monkeypatch.setattr(targets, "DEV", 5)
    monkeypatch.setattr(targets, "JUDGES", 6)
    monkeypatch.setattr(targets, "FEW_TEXT", 10)
    monkeypatch.setattr(targets, "MAPS", {})
    monkeypatch.setattr(pdaln_jobs, "MINI", bert)
    sizes = {
        "conll2003": {"train": 30, "dev": 6},
        "scitech": {"test": 45},
        "wikigold": {"train": 20, "dev": 25, "test": 8},
    }
    return written(tmp_path / "data", sizes, make_corpus)


def run_for(folder: Path, out: Path, judged: bool = True, **pdaln: Any) -> Run:
    return Run(str(folder), str(out), str(out / "work"), TRAINING, {}, "none", pdaln, None, judged)


def options(folder: Path, out: Path, *variants: str, judged: bool = True) -> Namespace:
    shown = {"targets": ["scitech", "wikigold"], "labels": [0, LABELS], "variant": [*map(changes_of, variants)]}
    return Namespace(data=str(folder), out=str(out), limit=None, judged=judged, pdaln=[], **shown)


def bodies(corpus: Corpus) -> set[tuple[str, ...]]:
    return {sentence.words for sentence in corpus}


# settings


def test_results_on_test_have_the_settings_that_they_have_always_had() -> None:
    given = Namespace(data="d", out="o", states=None, set=[], lstm=[], vectors="glove", pdaln=[], limit=None)
    settings = settings_of(pdaln.run_of(Namespace(**vars(given), judged=False)))
    assert settings == {
        "data": None,
        "out": None,
        "states": None,
        "training": {"epochs": 3, "words_per_batch": 1024, "learning_rate": 4e-4, "warm_up": 0.1, "clip": 1.0},
        "lstm": {"learning_rate": 0.003, "warm_up": 0.05, "clip": 5.0},
        "vectors": "glove",
        "pdaln": {},
        "limit": None,
    }


def test_trials_and_final_tables_never_share_a_folder(folder: Path, tmp_path: Path) -> None:
    trial, final = (run_for(folder, tmp_path, judged) for judged in (True, False))
    same_settings(tmp_path, settings_of(trial))
    with pytest.raises(SystemExit, match="other settings"):
        same_settings(tmp_path, settings_of(final))


def test_nor_do_they_share_first_stages() -> None:
    given = Namespace(data="d", out="o", states="s", set=[], lstm=[], vectors="glove", pdaln=[], limit=None)
    places = {pdaln.run_of(Namespace(**vars(given), judged=judged)).states for judged in (True, False)}
    assert len(places) == 2


# data


@pytest.mark.parametrize("target", ["scitech", "wikigold"])
def test_nobody_learns_from_the_judges_and_they_are_not_test(folder: Path, tmp_path: Path, target: str) -> None:
    job = Job(target, LABELS, PDALN, seed=1)
    trial, final = (run_for(folder, tmp_path, judged) for judged in (True, False))
    judges, test = (bodies(pdaln_jobs.gold_for(str(folder), target, None, judged)) for judged in (True, False))
    few, text = pdaln_jobs.drawn(trial, job)
    dev = pdaln_jobs.parts_for(str(folder), target, None, True)["dev"]
    assert judges
    assert not judges & bodies(dev)
    if target == "scitech":
        assert not judges & (bodies(few) | bodies(text) | test)
    else:  # its parts are those of its files, and what is learnt is the same
        assert pdaln_jobs.drawn(final, job)[0].sentences == few.sentences


# jobs


def test_a_variant_is_one_job_however_it_is_written() -> None:
    assert changes_of("round_rate=0.1  gamma=0.3") == changes_of("gamma=0.3 round_rate=0.1")
    assert pdaln_jobs.with_all_rounds(changes_of("rounds=2 keep_best=true")) == ("keep_best=false", "rounds=2")


@pytest.mark.parametrize(
    ("changes", "alike"),
    [("", True), ("round_rate=0.1 patience=2", True), ("mean_teacher.weight=1", True), ("gamma=0.3 alpha=0", False)],
)
def test_what_differs_in_the_rounds_alone_begins_as_pdaln(changes: str, alike: bool) -> None:
    assert Job("scitech", LABELS, PDALN, changes_of(changes)).begins_as_pdaln == alike
    assert not Job("scitech", 0, PDALN, changes_of(changes)).begins_as_pdaln


def test_options_of_rounds_are_options_of_pdaln() -> None:
    from acclimate.recipes.pdaln import PdalnSettings

    assert PdalnSettings.model_fields.keys() >= pdaln_jobs.OF_ROUNDS


def test_both_parts_have_a_line_for_each_variant_and_first_stages_come_before_all(folder: Path, tmp_path: Path) -> None:
    given = options(folder, tmp_path, "gamma=0.3", "alpha=0")
    plans = {part: list(pdaln.planned(part, given)) for part in ("variants", "rounds")}
    assert {job.labels for jobs in plans.values() for job in jobs} == {LABELS}
    assert len(plans["variants"]) == 2 * 5  # encoder+CRF, the first stage, PDALN, and two
    assert len(plans["rounds"]) == 2 * 4
    assert set(plans["variants"]) & set(plans["rounds"]) == {job for job in plans["rounds"] if job.turn == 0}
    ordered = in_good_order([*plans["rounds"], *plans["variants"]])
    assert [job.changes == FIRST_STAGE for job in ordered] == [True] * 4 + [False] * 14


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--part", "rounds", "--variant", "gama=1"], "Did you mean gamma"),
        (["--part", "table1", "--variant", "gamma=1"], "variants and rounds alone"),
    ],
)
def test_a_variant_that_means_nothing_is_told_at_once(
    given: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["pdaln.py", "--data", "d", "--out", "o", *given])
    with pytest.raises(SystemExit):
        pdaln.arguments()
    assert words in capsys.readouterr().err


def test_a_first_stage_is_trained_once_and_every_round_is_scored(folder: Path, tmp_path: Path) -> None:
    run = run_for(folder, tmp_path, round_epochs=0.1)
    (first,) = do(run, Job("scitech", LABELS, PDALN, FIRST_STAGE, 1))
    changes = pdaln_jobs.with_all_rounds(changes_of("rounds=2 gamma=0.9"))
    shorter = replace(run, training={**TRAINING, "updates": 1})  # the first stage would be another one, were it trained
    (row,) = do(shorter, Job("scitech", LABELS, PDALN, changes, 1))
    assert [stage for stage, _ in row["after"]] == ["align", "round-1", "round-2"]
    assert row["stages"][0] == first["stages"][0]
    assert (row["after"][0][1], row["after"][-1][1]) == (first["f1"], row["f1"])
    assert "after" not in first


# tables


def row_of(target: str, seed: int, changes: tuple[str, ...], dev: list[float], f1: list[float]) -> dict[str, Any]:
    names = ["align", *(f"round-{number}" for number in range(1, len(dev)))]
    stages = [[name, 10, 5, score / 100] for name, score in zip(names, dev, strict=True)]
    after = [[name, score] for name, score in zip(names, f1, strict=True)]
    job = Job(target, LABELS, PDALN, changes, seed)
    row = {**asdict(job), "tested": target, "f1": f1[-1], "dev": dev[-1], "updates": 10 * len(dev)}
    return json.loads(json.dumps({**row, "stages": stages, "after": after}))


def test_the_table_of_rounds_has_dev_and_score_after_each_of_them(folder: Path, tmp_path: Path) -> None:
    taken = pdaln_jobs.with_all_rounds(())
    rows = [
        row_of("scitech", 1, taken, [50, 60], [40, 45]),
        row_of("scitech", 2, taken, [52, 58], [42, 41]),
        row_of("wikigold", 1, taken, [70, 70], [60, 65]),
        row_of("scitech", 1, pdaln_jobs.with_all_rounds(("gamma=0.3",)), [50, 61, 62], [40, 46, 47]),
    ]
    tables = round_tables(rows, options(folder, tmp_path, "gamma=0.3")).split("\n\n")
    scitech, wikigold, both = tables[1], tables[3], tables[5]
    assert "judges span F1" in tables[0]
    assert "|  | first stage | round 1 | round 2 |" in scitech
    assert "| PDALN | 51.00 / 41.00 | 59.00 / 43.00 |  |" in scitech
    assert "| gamma=0.3 | 50.00 / 40.00 | 61.00 / 46.00 | 62.00 / 47.00 |" in scitech
    assert "| PDALN | 70.00 / 60.00 | 70.00 / 65.00 |" in wikigold
    assert "| PDALN | 60.00 / 50.00 | 65.00 / 55.00 |" in both  # of the seed that both have


def test_ways_of_doing_rounds_stand_beside_the_first_stage(folder: Path, tmp_path: Path) -> None:
    given = options(folder, tmp_path, "gamma=0.3")
    gold = pdaln_jobs.gold_for(str(folder), "scitech", None, True)
    right, wrong = ([list(sentence.tags or ()) for sentence in gold], [["O"] * len(one) for one in gold])
    rows = []
    given.targets = ["scitech"]
    for changes, tags, dev in [
        (FIRST_STAGE, wrong, [50.0]),
        ((), wrong, [50.0, 50.0]),
        (("gamma=0.3",), right, [50.0, 60.0]),
    ]:
        row = row_of("scitech", 1, changes, dev, [100.0 * (tags is right)] * len(dev))
        row["stages"][-1][2] = 0 if changes == () else 5
        pdaln_jobs.keep_answers(str(tmp_path), "scitech", job_of(row), tags)
        rows.append(row)
    said = variant_table(rows, given)
    assert "| gamma=0.3 | 100.00 (+100.00, p 0.001) |" in said
    assert "| first stage alone | 0.00 |" in said
    assert "| PDALN | 50.00; 0.0 of 1.0; 20 |" in said
    assert "| gamma=0.3 | 60.00; 1.0 of 1.0; 20 |" in said
    assert f"| {BASE} |  |" in said


def test_a_job_is_found_again_in_its_row(folder: Path, tmp_path: Path) -> None:
    job = Job("wikigold", LABELS, BASE, seed=1)
    (row,) = do(replace(run_for(folder, tmp_path, round_epochs=0.1), judged=False), job)
    assert job_of(row) == job
    assert row["updates"] == 2 + 3 * 1  # as many as PDALN in its first stage and its rounds
