"""`acclimate adapt --members N`: taggers that differ in their seed, and one student of what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import QUICK, Answer, Files, acclimate, ctrl_c_after

LONGER = ["--set", "training.updates=60", "--set", "training.learning_rate=0.05", "--set", "tagger.lstm.dropout=0"]
MEMBERS = ["--recipe", "self-training", "--members", 2, *LONGER]


@pytest.fixture(scope="module")
def words(files: Files) -> list[object]:
    given = ["--source", files.news, "--source-dev", files.dev, "--target", files.tweets, "--target-test", files.gold]
    return ["adapt", *given, *QUICK, *MEMBERS]


@pytest.fixture(scope="module")
def taught(words: list[object], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    folder = tmp_path_factory.mktemp("committee") / "a"
    return folder, acclimate(*words, "--out", folder, "--set", "committee.keep=true")


def weights(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()


def test_members_committee_and_student_are_told(taught: tuple[Path, Answer]) -> None:
    folder, answer = taught
    found = json.loads((folder / "report.json").read_text(encoding="utf-8"))["committee"]
    assert [(one["recipe"], one["seed"]) for one in found["members"]] == [("self-training", 1), ("self-training", 1001)]
    assert None not in (found["committee_f1"], found["student_f1"])
    for said in (answer.out, (folder / "report.md").read_text(encoding="utf-8")):
        assert "committee of 2 members" in said
        assert "member, self-training  1001" in said
    assert "After: taught by the committee." in answer.out
    assert "2 members, one of source-only" in answer.err.replace("\n", " ")


def test_the_student_is_a_tagger_as_any_other_and_so_are_the_members_that_were_kept(
    taught: tuple[Path, Answer], files: Files
) -> None:
    folder, _ = taught
    for place in (folder, folder / "before", folder / "members" / "1", folder / "members" / "2"):
        acclimate("evaluate", place, files.gold)
    assert "taught this tagger" in acclimate_report(folder)


def acclimate_report(folder: Path) -> str:
    acclimate("report", folder, "--out", folder.parent / "page.html", "--set", "quick=true")
    return (folder.parent / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("update", [3, 45])
def test_it_goes_on_after_ctrl_c_and_keeps_no_member_unasked(
    taught: tuple[Path, Answer], words: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update: int
) -> None:
    given = [*words, "--out", tmp_path / "a"]
    with ctrl_c_after(update):
        answer = acclimate(*given, code=130)
    assert "goes on from its last checkpoint" in answer.err.replace("\n", " ")
    monkeypatch.setattr("acclimate.comparison.committee.write_answer", lambda *_: pytest.fail("labelled again"))
    assert "goes on from there" in acclimate(*given).err
    assert weights(tmp_path / "a") == weights(taught[0])
    assert not (tmp_path / "a" / "members").exists()


def test_another_committee_does_not_go_on_with_this_one(words: list[object], tmp_path: Path) -> None:
    given = [*words, "--out", tmp_path / "a"]
    with ctrl_c_after(3):
        acclimate(*given, code=130)
    answer = acclimate(*given, "--set", "committee.labels=marginals", code=2)
    assert "committee.labels: vote then, marginals now" in answer.err
    acclimate(*given, "--set", "committee.labels=marginals", "--overwrite")
    assert (
        json.loads((tmp_path / "a" / "report.json").read_text(encoding="utf-8"))["committee"]["labels"] == "marginals"
    )
