"""Tables from beginning to end: at small scale, on data of one's own, with data missing, and a second time."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from acclimate.cli.main import app
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.reading import load_bundled
from acclimate.data.writing import write_corpus
from acclimate.model.storage import read_json
from acclimate.reproduction.reproduce import reproduce
from acclimate.reproduction.table import all_tables

QUICK = [
    "training.updates=3",
    "training.evaluate_every=3",
    "limit=20",
    "tagger.lstm.vectors=null",
    "training.device=cpu",
]
QUICK += ["tagger.lstm.lstm_width=8", "tagger.lstm.contextual=null"]


def command(*words: str) -> Any:
    return CliRunner().invoke(app, ["papers", "reproduce", *words])


def a_set(data: Path, name: str, bundled: str = "news", test: Corpus | None = None) -> None:
    """A data set of one's own, as the command wants it."""
    domain = load_bundled(bundled)
    (data / name).mkdir(parents=True)
    for part, corpus in (("train", domain.train), ("dev", domain.dev), ("test", test or domain.test)):
        write_corpus(corpus[:40], data / name / f"{part}.conll")


def rows_of(out: Path, table: str) -> list[dict[str, str]]:
    with (out / f"{table}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_figure_that_is_counted_runs_small_through_the_command(tmp_path: Path) -> None:
    done = command("mlm4uda-figure2", "--scale", "small", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    page = (tmp_path / "mlm4uda-figure2.md").read_text(encoding="utf-8")
    assert "Small scale: shows that the runner runs, not the paper's result." in page
    assert "acclimate papers reproduce mlm4uda-figure2 --scale small" in page
    charts = (tmp_path / "mlm4uda-figure2.html").read_text(encoding="utf-8")
    assert charts.startswith("<!DOCTYPE html>")
    assert "<svg" in charts
    shares = {(row["row"], row["column"]): float(row["mean"]) for row in rows_of(tmp_path, "mlm4uda-figure2")}
    assert len(shares) == 9
    assert shares["CoNLL2003", "CoNLL2003"] == 100
    assert shares["CoNLL2003", "WNUT2016"] == shares["WNUT2016", "CoNLL2003"] < 100


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A table of trainings at small scale."""
    out, told = tmp_path_factory.mktemp("trained"), list[str]()
    reproduce("mat-table3", out=out, scale="small", assignments=QUICK, tell=told.append)
    return out, told


def test_a_table_of_trainings_runs_small_with_the_paper_beside_it(trained: tuple[Path, list[str]]) -> None:
    out, _ = trained
    rows = rows_of(out, "mat-table3")
    assert {(row["row"], row["column"]) for row in rows} == {
        (method, task)
        for method in ("Baseline", "Baseline, normalised", "AT", "MAT (S)")
        for task in ("NER", "chunking")
    }
    assert [row["paper"] for row in rows if row["row"] == "MAT (S)"] == ["95.12", "96.86"]
    assert "| MAT (S) (paper) | 95.12 | 96.86 |" in (out / "mat-table3.md").read_text(encoding="utf-8")


def test_the_same_command_again_trains_nothing_and_says_the_same(trained: tuple[Path, list[str]]) -> None:
    out, first = trained
    before, told = rows_of(out, "mat-table3"), list[str]()
    manifests = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/*/facts.json")}
    reproduce("mat-table3", out=out, scale="small", assignments=QUICK, tell=told.append)
    assert "8 trainings, 0 finished before" in first[0]
    assert "8 trainings, 8 finished before" in told[0]
    assert rows_of(out, "mat-table3") == before
    assert {path: path.stat().st_mtime_ns for path in out.glob("runs/*/*/facts.json")} == manifests


def test_another_table_shares_trainings_that_are_the_same(trained: tuple[Path, list[str]]) -> None:
    out, _ = trained
    told: list[str] = []
    reproduce("mat-table1", out=out, scale="small", assignments=QUICK, tell=told.append)
    assert "14 trainings, 8 finished before" in told[0]


def test_missing_sets_are_named_and_their_cells_left_out(tmp_path: Path) -> None:
    a_set(tmp_path / "data", "conll2003")
    a_set(tmp_path / "data", "wnut2016", "social")
    told: list[str] = []
    found = reproduce("mlm4uda-figure2", tmp_path / "data", tmp_path / "out", tell=told.append)
    assert {(figure.row, figure.column) for figure in found.figures} == {
        (one, other) for one in ("CoNLL2003", "WNUT2016") for other in ("CoNLL2003", "WNUT2016")
    }
    assert {one.partition(":")[0] for one in found.missing} == {"fin", "jnlpba", "bc2gm", "bionlp09", "bionlp11epi"}
    line = next(line for line in told if line.startswith("missing: fin"))
    assert "SEC filings" in line
    assert "Salinas Alvarado and others 2015" in line
    assert str(tmp_path / "data" / "fin" / "train.*") in line
    assert "Missing, left out: fin" in (tmp_path / "out" / "mlm4uda-figure2.md").read_text(encoding="utf-8")


def test_rows_of_more_text_than_there_is_are_told(tmp_path: Path, bert: str) -> None:
    for name, bundled in (("conll2003", "news"), ("wnut2016", "social")):
        a_set(tmp_path / "data", name, bundled)
    (tmp_path / "data" / "tweets").mkdir()
    (tmp_path / "data" / "tweets" / "unlabelled.txt").write_text("omg so tired\nlol ok\nlol ok\n", encoding="utf-8")
    shorter = ["limit=8", "training.updates=1", "training.epochs=null", "training.device=cpu", f"tagger.encoder={bert}"]
    shorter += ["adversarial-masking.options.rows_per_batch=4", "adversarial-masking.options.updates=1"]
    told: list[str] = []
    found = reproduce(
        "mlm4uda-table3", tmp_path / "data", tmp_path / "out", seeds=1, assignments=shorter, tell=told.append
    )
    short = "Extra text of WNUT2016: 2 lines of tweets, all that there are, where 500,000 and 1,000,000 were asked for."
    page = (tmp_path / "out" / "mlm4uda-table3.md").read_text(encoding="utf-8")
    assert short in told
    assert f"- {short}" in page
    policies = ("random", "mix-pos", "mix-entropy", "mix-adversarial")
    assert {figure.row for figure in found.figures if figure.values} == {
        f"{policy} + {size}" for policy in policies for size in ("500K", "1M")
    }
    assert "random + 1M (paper)" in page  # its numbers stay


def test_without_any_data_nothing_is_run_and_the_exit_code_is_1(tmp_path: Path) -> None:
    done = command("mat-table1", "--data", str(tmp_path), "--out", str(tmp_path / "out"), "--quiet")
    assert done.exit_code == 1
    assert "all its data are missing" in done.output
    assert "Tjong Kim Sang" in done.output
    assert not (tmp_path / "out").exists()


def test_a_training_whose_second_task_is_missing_is_left_out_alone(tmp_path: Path) -> None:
    a_set(tmp_path / "data", "conll2003")
    found = reproduce("mat-table2", tmp_path / "data", tmp_path / "out", seeds=1, assignments=QUICK)
    assert {one.partition(":")[0] for one in found.missing} == {"conll2000_chunk"}
    ran = {figure.row for figure in found.figures if figure.values}
    assert "MAT (S)" in ran
    assert not any("other task" in row for row in ran)
    assert "Flair (Akbik et al., 2018)" in {figure.row for figure in found.figures}


def test_full_scale_wants_data(tmp_path: Path) -> None:
    done = command("mat-table1", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert "--data DIR" in done.output


def test_other_test_labels_change_no_prediction(tmp_path: Path) -> None:
    test = load_bundled("news").test[:40]
    names = {"PER": "LOC", "LOC": "PER"}
    turned = test.with_tags(
        [[f"{tag[:2]}{names.get(tag[2:], tag[2:])}" if tag != "O" else tag for tag in one.tags or ()] for one in test]
    )
    predicted = []
    for name, gold in (("right", test), ("turned", turned)):
        a_set(tmp_path / name, "conll2003", test=gold)
        found = reproduce("mat-table3", tmp_path / name, tmp_path / f"out-{name}", seeds=1, assignments=QUICK)
        assert found.skipped
        places = sorted((tmp_path / f"out-{name}").glob("runs/*/*/predictions.json"))
        predicted.append([read_json(place) for place in places])
    assert len(predicted[0]) == 4
    assert predicted[0] == predicted[1]


def test_a_set_that_cannot_be_divided_is_named(tmp_path: Path) -> None:
    a_set(tmp_path / "data", "conll2003")
    broken = load_bundled("clinical").train[:40]
    (tmp_path / "data" / "conll2000_chunk").mkdir()
    for part in ("train", "test"):
        write_corpus(broken.unlabelled(), tmp_path / "data" / "conll2000_chunk" / f"{part}.txt", "text")
    with pytest.raises(InputError, match="conll2000_chunk"):
        reproduce("mat-table3", tmp_path / "data", tmp_path / "out", seeds=1, assignments=QUICK)


def test_the_list_names_every_table() -> None:
    done = CliRunner().invoke(app, ["papers", "list"])
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert [line.split()[0] for line in lines] == list(all_tables())


def test_a_mistyped_table_is_told_before_the_data_are_asked_for() -> None:
    answer = CliRunner().invoke(app, ["papers", "reproduce", "datnet-tabel6"])
    assert answer.exit_code == 2
    assert "Did you mean 'datnet-table6'?" in answer.stderr
