"""A folder belongs to one run: finished, going on, or free."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import TINY, Files, acclimate, ctrl_c_after

LONGER = [*TINY, "--set", "training.updates=9", "--set", "training.checkpoint_every=2"]


@pytest.fixture
def words(files: Files) -> list[object]:
    return ["adapt", "--source", files.news, "--target", files.tweets, "--target-test", files.gold, *LONGER]


def weights(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()


def test_a_finished_run_is_not_overwritten(adapt_words: list[object], tagger: Path) -> None:
    before = weights(tagger)
    answer = acclimate(*adapt_words, "--out", tagger, code=2)
    assert "already holds a finished run. Choose another --out, or pass --overwrite." in answer.err
    assert weights(tagger) == before


def test_overwrite_starts_anew(files: Files, tmp_path: Path) -> None:
    words = ["adapt", "--source", files.news, *LONGER, "--out", tmp_path / "a", "--quiet"]
    acclimate(*words)
    first = weights(tmp_path / "a")
    acclimate(*words, "--seed", 2, "--overwrite")
    assert weights(tmp_path / "a") != first


def test_overwrite_without_out_takes_the_same_folder_again(files: Files, here: Path) -> None:
    words = ["adapt", "--source", files.news, *LONGER, "--json", "--quiet"]
    assert acclimate(*words).json["run"] == acclimate(*words, "--overwrite").json["run"]


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(words, tmp_path: Path) -> None:
    with ctrl_c_after(5):
        answer = acclimate(*words, "--out", tmp_path / "a", code=130)
    assert answer.out == ""
    assert f"Stopped. What {tmp_path / 'a'} holds is kept: the same command goes on" in answer.err


@pytest.mark.parametrize("updates", [5, 10])  # in the middle of the baseline, and of the first round
def test_an_interrupted_run_goes_on_and_ends_as_the_unbroken_one(words, tmp_path: Path, updates: int) -> None:
    acclimate(*words, "--out", tmp_path / "unbroken", "--quiet")
    with ctrl_c_after(updates):
        acclimate(*words, "--out", tmp_path / "broken", code=130)
    answer = acclimate(*words, "--out", tmp_path / "broken")
    assert updates != 5 or "stage source: going on from update 4 of 9" in answer.err
    assert weights(tmp_path / "broken") == weights(tmp_path / "unbroken")


def test_it_goes_on_only_with_the_same_settings(words, tmp_path: Path) -> None:
    with ctrl_c_after(5):
        acclimate(*words, "--out", tmp_path / "a", code=130)
    answer = acclimate(*words, "--set", "tagger.lstm.dropout=0.1", "--out", tmp_path / "a", code=2)
    assert "holds an unfinished run that was begun otherwise" in answer.err
    assert "tagger.lstm.dropout: 0.5 then, 0.1 now" in answer.err
    assert "training.updates" not in answer.err


def test_it_goes_on_only_with_the_same_data(files: Files, tmp_path: Path) -> None:
    source = tmp_path / "news.conll"
    source.write_bytes(files.news.read_bytes())
    with ctrl_c_after(5):
        acclimate("adapt", "--source", source, *LONGER, "--out", tmp_path / "a", code=130)
    source.write_text(source.read_text(encoding="utf-8") + "\nMore\tO\n", encoding="utf-8")
    answer = acclimate("adapt", "--source", source, *LONGER, "--out", tmp_path / "a", code=2)
    assert "the data files have changed since" in answer.err


def test_a_run_that_learned_nothing_yet_blocks_nobody(words, tmp_path) -> None:
    with ctrl_c_after(1):
        acclimate(*words, "--out", tmp_path / "a", code=130)
    acclimate(*words, "--set", "tagger.lstm.dropout=0.1", "--out", tmp_path / "a", "--quiet")


def test_without_out_other_settings_get_another_folder(files, here: Path) -> None:
    words = ["adapt", "--source", files.news, *LONGER, "--json", "--quiet"]
    with ctrl_c_after(5):
        acclimate(*words, code=130)
    assert acclimate(*words, "--set", "tagger.lstm.dropout=0.1").json["run"] == "runs/news-source-only-seed-1-2"
    assert acclimate(*words).json["run"] == "runs/news-source-only-seed-1"


def test_an_interrupted_overwrite_leaves_the_old_tagger_and_goes_on(words, tmp_path: Path) -> None:
    acclimate(*words, "--out", tmp_path / "a", "--quiet")
    before = weights(tmp_path / "a")
    with ctrl_c_after(5):
        answer = acclimate(*words, "--seed", 2, "--out", tmp_path / "a", "--overwrite", code=130)
    assert "the same command without --overwrite goes on" in answer.err
    assert weights(tmp_path / "a") == before
    answer = acclimate(*words, "--seed", 2, "--out", tmp_path / "a")
    assert "going on from update 4" in answer.err
    assert weights(tmp_path / "a") != before


def test_an_unfinished_run_is_no_tagger_yet(words, tmp_path) -> None:
    with ctrl_c_after(5):
        acclimate(*words, "--out", tmp_path / "a", code=130)
    answer = acclimate("predict", tmp_path / "a", "-", stdin="Hello .\n", code=1)
    assert "this run is not finished. Give its `acclimate adapt` command again" in answer.err


def test_a_file_is_no_run_folder(words, files: Files) -> None:
    assert "is a file; a run needs a folder" in acclimate(*words, "--out", files.news, code=2).err


def test_a_folder_that_cannot_be_written_is_named(words: list[object], files: Files) -> None:
    answer = acclimate(*words, "--out", files.news / "below", code=2)
    assert f"nothing can be written in {files.news}, which is a file. Choose another --out." in answer.err
