"""A folder belongs to one run: finished, going on, or free."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, Files, acclimate, ctrl_c_after
from safetensors import SafetensorError

from acclimate.model.tagger import Tagger
from held_folders import held_by_a_thread

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
    assert "holds an unfinished run that was begun with other settings or data" in answer.err
    assert "tagger.lstm.dropout: 0.5 then, 0.1 now" in answer.err
    assert "training.updates" not in answer.err


def test_it_goes_on_only_with_the_same_data(files: Files, tmp_path: Path) -> None:
    source = tmp_path / "news.conll"
    source.write_bytes(files.news.read_bytes())
    with ctrl_c_after(5):
        acclimate("adapt", "--source", source, *LONGER, "--out", tmp_path / "a", code=130)
    source.write_text(source.read_text(encoding="utf-8") + "\nMore\tO\n", encoding="utf-8")
    answer = acclimate("adapt", "--source", source, *LONGER, "--out", tmp_path / "a", code=2)
    assert "data.source: other sentences or tags now" in answer.err


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


def in_use(folder: Path) -> str:
    wait = "Wait until it has ended, or choose another folder (--out)."
    return f"error: {folder} is in use: process {os.getpid()} trains there. {wait}\n"


def test_two_runs_do_not_share_a_folder(words, tmp_path: Path) -> None:
    with held_by_a_thread(tmp_path / "a"):
        assert acclimate(*words, "--out", tmp_path / "a", "--quiet", code=2).err == in_use(tmp_path / "a")
        assert acclimate(*words, "--out", tmp_path / "a", "--overwrite", "--quiet", code=2).err.endswith("(--out).\n")
    acclimate(*words, "--out", tmp_path / "a", "--quiet")
    assert not (tmp_path / "a" / ".lock").exists()


@pytest.mark.parametrize("command", ["compare", "encoder domain-tune", "encoder pretrain"])
def test_no_command_trains_where_another_one_does(command: str, files: Files, tmp_path: Path) -> None:
    given: dict[str, list[object]] = {
        "compare": ["--source", files.news, "--target", files.tweets, "--recipes", "self-training", *TINY],
        "encoder domain-tune": ["--text", files.tweets],
        "encoder pretrain": ["--text", files.tweets],
    }
    with held_by_a_thread(tmp_path / "a"):
        answer = acclimate(*command.split(), *given[command], "--out", tmp_path / "a", "--quiet", code=2)
    assert answer.err == in_use(tmp_path / "a")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_sigterm_ends_as_ctrl_c_does_and_the_folder_is_held_until_then(words, tmp_path: Path) -> None:
    long = [*words, "--set", "training.updates=100000", "--out", tmp_path / "a"]
    command = [sys.executable, "-m", "acclimate", *map(str, long)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not list(tmp_path.glob("a/training/*/00-source/checkpoint-*")):
                assert process.poll() is None
                time.sleep(0.05)
            answer = acclimate(*long, "--quiet", code=2)
            assert f"{tmp_path / 'a'} is in use: process {process.pid} trains there." in answer.err
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out) == (143, "")
    assert err.endswith(
        f"Stopped. What {tmp_path / 'a'} holds is kept: the same command goes on from its last checkpoint.\n"
    )
    assert not (tmp_path / "a" / ".lock").exists()


@pytest.mark.parametrize("part", ["", "# data", "{", "[1]", '{"recipe": "self-tr', "\0\1", "[" * 100_000])
def test_a_damaged_note_of_what_a_run_was_begun_with_is_named(words, tmp_path: Path, part: str) -> None:
    with ctrl_c_after(5):
        acclimate(*words, "--out", tmp_path / "a", code=130)
    note = tmp_path / "a" / "training" / "run.json"
    note.write_text(part, encoding="utf-8")
    answer = acclimate(*words, "--out", tmp_path / "a", "--quiet", code=1)
    assert answer.err.startswith(f"error: {note}: damaged")
    assert "pass --overwrite to start anew" in answer.err
    acclimate(*words, "--out", tmp_path / "a", "--overwrite", "--quiet")


def test_a_note_that_was_cut_off_is_not_told_as_other_settings(words, tmp_path: Path) -> None:
    with ctrl_c_after(5):
        acclimate(*words, "--out", tmp_path / "a", code=130)
    note = tmp_path / "a" / "training" / "run.json"
    note.write_bytes(note.read_bytes()[:-40])
    assert f"{note}: damaged" in acclimate(*words, "--out", tmp_path / "a", "--quiet", code=1).err


def test_odd_rows_of_a_record_do_not_keep_a_run_from_going_on(words, tmp_path: Path) -> None:
    with ctrl_c_after(5):
        acclimate(*words, "--out", tmp_path / "a", code=130)
    record = tmp_path / "a" / "training" / "source-only" / "records.jsonl"
    odd = ["5", "null", "{}", '{"kind": "game", "stage": "source", "update": "x"}', '{"kind": "game"}', "[" * 100_000]
    record.write_text("\n".join(odd), encoding="utf-8")
    acclimate(*words, "--out", tmp_path / "a", "--quiet")
    assert "null" not in record.read_text(encoding="utf-8").split("\n")


FULL = {
    "python": OSError(errno.ENOSPC, "No space left on device"),
    "rust": SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
}


@pytest.mark.parametrize("kind", FULL)
def test_a_full_disk_ends_in_a_sentence_and_the_run_goes_on_later(
    words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def full(*given: Any) -> None:
        raise FULL[kind]

    with monkeypatch.context() as patch:
        patch.setattr("acclimate.training.record.write_tensors", full)
        answer = acclimate(*words, "--out", tmp_path / "a", "--quiet", code=1)
    assert answer.err.startswith(
        f"error: {tmp_path / 'a'}: No space left on device. What {tmp_path / 'a'} holds is kept."
    )
    assert "Make room; the same command then goes on from its last checkpoint." in answer.err
    assert not list(tmp_path.rglob("*.part"))
    acclimate(*words, "--out", tmp_path / "a", "--quiet")


@pytest.mark.skipif(os.name != "posix", reason="limits of the system")
def test_a_file_that_really_cannot_grow_ends_in_a_sentence(words, tmp_path: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, before[1]))
    try:
        answer = acclimate(*words, "--out", tmp_path / "a", "--quiet", code=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "File too large. What" in answer.err
    acclimate(*words, "--out", tmp_path / "a", "--quiet")


def test_going_on_says_what_was_done_before(words, tmp_path: Path) -> None:
    with ctrl_c_after(12):  # the baseline's 9 updates are made
        acclimate(*words, "--out", tmp_path / "a", code=130)
    answer = acclimate(*words, "--out", tmp_path / "a")
    assert f"{tmp_path / 'a'} holds the beginning of this run: it goes on from there." in answer.err
    assert "stage source: finished before (9 updates, best span F1 " in answer.err
    assert "expected time" not in answer.err


def test_the_time_of_a_run_counts_what_was_done_before(words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, ctrl_c_after(12):
        ticks = iter(range(0, 10**9, 100))  # a slow machine: every look at the clock takes a while
        patch.setattr("acclimate.training.run.time.monotonic", lambda: float(next(ticks)))
        acclimate(*words, "--out", tmp_path / "a", "--quiet", code=130)
    report = acclimate(*words, "--out", tmp_path / "a", "--quiet", "--json").json
    assert sum(stage["seconds"] for stage in report["stages"]) > 100
    assert report["seconds"] >= sum(stage["seconds"] for stage in report["stages"])


def test_a_plan_and_an_expected_time_come_first_and_change_nothing(words, tmp_path: Path) -> None:
    answer = acclimate(*words, "--recipe", "self-training", "--out", tmp_path / "a")
    plan = answer.err.index("plan: source 9 updates, round-1 ")
    assert plan < answer.err.index("expected time: about ") < answer.err.index("stage source: 9 updates")
    acclimate(*words, "--recipe", "self-training", "--out", tmp_path / "b", "--quiet")
    assert weights(tmp_path / "a") == weights(tmp_path / "b")


def test_both_taggers_are_kept(tagger: Path, files: Files, tmp_path: Path) -> None:
    report = json.loads((tagger / "report.json").read_text(encoding="utf-8"))
    for when, place in (("after", tagger), ("before", tagger / "before")):
        scores = acclimate("evaluate", place, files.gold, "--json").json
        assert scores["span"] == report["target"][when]["span"]
        acclimate("predict", place, files.tweets, "--out", tmp_path / f"{when}.conll", "--quiet")
    assert Tagger.load(tagger / "before").labels == Tagger.load(tagger).labels
    assert (tmp_path / "before.conll").read_bytes() != (tmp_path / "after.conll").read_bytes()
    assert "\nUse the " in (tagger / "report.md").read_text(encoding="utf-8")
    assert report["use"]["tagger"] in ("before", "after")


def test_where_nothing_was_adapted_there_is_no_tagger_before(words, files: Files, tmp_path: Path) -> None:
    acclimate(*words, "--recipe", "self-training", "--out", tmp_path / "a", "--quiet")
    assert (tmp_path / "a" / "before" / "manifest.json").is_file()
    acclimate(*words, "--recipe", "source-only", "--out", tmp_path / "a", "--overwrite", "--quiet")
    assert not (tmp_path / "a" / "before").exists()
    answer = acclimate("predict", tmp_path / "a" / "before", files.tweets, "--quiet", code=1)
    assert f"{tmp_path / 'a' / 'before'}: no such folder" in answer.err
