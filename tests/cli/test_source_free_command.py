"""`acclimate adapt --target` without `--source`: a trained tagger, its run folder and its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import QUICK, Files, acclimate, ctrl_c_after

from acclimate.model.shipped import GENERAL
from acclimate.model.tagger import Tagger

FEW = ["--set", "training.updates=6", "--set", "training.words_per_batch=40"]


@pytest.fixture
def words(files: Files, tagger: Path) -> list[object]:
    return ["adapt", "--target", files.tweets, "--start", tagger, *FEW]


def weights(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()


def test_a_target_and_a_tagger_are_enough(words: list[object], files: Files, tagger: Path, tmp_path: Path) -> None:
    answer = acclimate(*words, "--target-test", files.gold, "--out", tmp_path / "a")
    assert "source-free: no source, 10 target sentences" in answer.err
    assert "model chosen by steadiness on target text (10 sentences)" in answer.out
    assert "Before: the tagger that it started from. After: adapted by recipe source-free." in answer.out
    assert "source" not in [line.split()[0] for line in answer.out.splitlines() if line.strip()]
    report = (tmp_path / "a" / "report.md").read_text(encoding="utf-8")
    assert report.startswith(f"# {tagger} → {files.tweets}: source-free")
    before = tmp_path / "a" / "before"
    assert weights(before) == weights(tagger)
    assert list(Tagger.load(tmp_path / "a").labels) == list(Tagger.load(tagger).labels)


def test_the_settings_of_a_run_run_it_again(words: list[object], tmp_path: Path) -> None:
    acclimate(*words, "--out", tmp_path / "a", "--quiet")
    acclimate("adapt", "--config", tmp_path / "a" / "settings.yaml", "--out", tmp_path / "b", "--quiet")
    assert weights(tmp_path / "a") == weights(tmp_path / "b")


def test_its_report_can_be_read(words: list[object], files: Files, tmp_path: Path) -> None:
    acclimate(*words, "--target-test", files.gold, "--out", tmp_path / "a", "--quiet")
    acclimate("report", tmp_path / "a", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "the tagger that it started from, as it was" in page
    acclimate("evaluate", tmp_path / "a" / "before", files.gold)


def test_an_interrupted_run_goes_on(words: list[object], tmp_path: Path) -> None:
    often = ["--set", "training.checkpoint_every=2", "--out", tmp_path / "a"]
    with ctrl_c_after(3):
        acclimate(*words, *often, code=130)
    assert "it goes on from there" in acclimate(*words, *often).err
    acclimate(*words, "--set", "training.checkpoint_every=2", "--out", tmp_path / "b", "--quiet")
    assert weights(tmp_path / "a") == weights(tmp_path / "b")


def test_labels_and_new_labels_are_learnt(words: list[object], files: Files, tmp_path: Path) -> None:
    few = tmp_path / "few.conll"
    few.write_text("lol\tB-SLANG\nok\tO\n\nanna\tO\nsux\tB-SLANG\n", encoding="utf-8")
    answer = acclimate(*words, "--target-labelled", few, "--out", tmp_path / "a", "--json")
    assert list(Tagger.load(tmp_path / "a").labels) == ["LOC", "ORG", "PER", "SLANG"]
    assert any("The tagger learns SLANG besides what it knows." in remark for remark in answer.json["remarks"])
    assert "plan: labels 6 updates, source-free 6 updates" in answer.err


def test_types_that_the_labelled_sentences_never_name_are_told(words: list[object], tmp_path: Path) -> None:
    few, names = tmp_path / "few.conll", tmp_path / "names.yaml"
    few.write_text("Anna\tB-PER\nok\tO\n", encoding="utf-8")
    names.write_text("labels: {PER: PER}\nannotates: [PER]\n", encoding="utf-8")
    given = [*words, "--target-labelled", few, "--json", "--quiet"]
    remarks = acclimate(*given, "--out", tmp_path / "a").json["remarks"]
    assert sum("few.conll names no LOC, ORG, so such names are learnt as O there." in remark for remark in remarks) == 1
    remarks = acclimate(*given, "--map", names, "--out", tmp_path / "b").json["remarks"]
    assert not any("learnt as O there" in remark for remark in remarks)


def test_a_labelled_corpus_of_the_old_kind_shows_what_is_forgotten(
    words: list[object], files: Files, tmp_path: Path
) -> None:
    found = acclimate(*words, "--source-test", files.dev, "--out", tmp_path / "a", "--json", "--quiet", code=2)
    assert "No such option" in found.err
    given = ["--set", f"source_test={files.dev}"]
    found = acclimate(*words, *given, "--out", tmp_path / "a", "--json", "--quiet").json
    assert found["source"]["before"]["sentences"] == 8


def test_the_shipped_tagger_is_the_start_where_none_is_named(
    files: Files, tagger: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acclimate.model.shipped.HOME", here)
    (here / GENERAL).symlink_to(tagger)
    monkeypatch.chdir("/")
    folder = here / "out"
    acclimate("adapt", "--target", files.tweets, *FEW, "--out", folder, "--quiet")
    assert json.loads((folder / "report.json").read_text(encoding="utf-8"))["before"] == "start"
    assert "start: general" in (folder / "settings.yaml").read_text(encoding="utf-8")


def test_a_run_folder_is_named_after_both(words: list[object], tagger: Path, here: Path) -> None:
    assert acclimate(*words, "--json", "--quiet").json["run"] == f"runs/{tagger.name}-to-tweets-source-free-seed-1"


@pytest.mark.parametrize(
    ("more", "told", "code"),
    [
        (["--recipe", "mat"], "Recipe mat learns from labelled source sentences, and there are none", 2),
        (["--recipe", "auto"], "Recipe auto learns from labelled source sentences, and there are none", 2),
        (["--source", "news"], "starts from a trained tagger (--start", 2),
        (["--encoder", "acclimate-mini", "--encoder", "x"], "has a make of its own: leave out --encoder.", 2),
        (["--set", "tagger.head=softmax"], "has a make of its own: leave out tagger.head.", 2),
        (["--set", "select=source-dev"], "There is no source", 2),
        (["--start", "nowhere"], "nowhere: no such folder. Expected one", 1),
        (["--start", "generl"], "Did you mean 'general'?", 1),
    ],
)
def test_what_does_not_fit_is_refused(
    words: list[object], tmp_path: Path, more: list[str], told: str, code: int
) -> None:
    answer = acclimate(*words, *more, "--out", tmp_path / "a", code=code)
    assert told in answer.err
    assert "plan:" not in answer.err
    assert not (tmp_path / "a" / "weights.safetensors").exists()


def test_a_start_without_a_target_is_refused(tagger: Path, here: Path) -> None:
    assert "needs target text: give --target" in acclimate("adapt", "--start", tagger, code=2).err


def test_a_comparison_needs_a_source(files: Files, here: Path) -> None:
    answer = acclimate("compare", "--set", "source=null", "--target", files.tweets, *QUICK, code=2)
    assert "A comparison trains its recipes on a labelled source" in answer.err
