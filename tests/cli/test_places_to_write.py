"""A place that cannot be written to is refused before any work is done, by every command that writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import QUICK, Files, acclimate

from acclimate.cli.places import check_file_to_write, check_folder_to_write
from acclimate.settings import UsageError

FOLDERS = {
    "adapt": ["adapt", "--source", "NEWS", *QUICK, "--out"],
    "compare": ["compare", "--source", "NEWS", "--recipes", "source-only", *QUICK, "--out"],
    "domain-tune": ["domain-tune", "--text", "TWEETS", "--out"],
    "pretrain": ["pretrain", "--text", "TWEETS", "--out"],
    "reproduce": ["reproduce", "S1.17", "--scale", "small", "--out"],
    "split": ["split", "NEWS", "--out"],
    "masks": ["masks", "TAGGER", "--csv"],
    "masks --plot": ["masks", "TAGGER", "--plot"],
    "curves --csv": ["curves", "TAGGER", "--csv"],
    "confidence --csv": ["confidence", "TAGGER", "--gold", "NEWS", "--csv"],
    "feature-map --csv": ["feature-map", "TAGGER", "--source", "NEWS", "--target", "NEWS", "--csv"],
    "compare-text --csv": ["compare-text", "NEWS", "NEWS", "--csv"],
}
FILES = {
    "report": ["report", "TAGGER", "--out"],
    "select": ["select", "--like", "TWEETS", "--from", "TWEETS", "--top", "2", "--out"],
    "select --scores": ["select", "--like", "TWEETS", "--from", "TWEETS", "--top", "2", "--out", "a", "--scores"],
    "augment": ["augment", "--source", "NEWS", "--target", "GOLD", "--out"],
    "weak-label": ["weak-label", "--concepts", "clinical", "--text", "TWEETS", "--out"],
    "collocations": ["collocations", "TWEETS", "--out"],
    "vectors": ["vectors", "TWEETS", "--out"],
    "inspect": ["inspect", "NEWS", "TWEETS", "--out"],
    "predict": ["predict", "TAGGER", "TWEETS", "--out"],
    "evaluate --predictions": ["evaluate", "TAGGER", "GOLD", "--predictions"],
    "evaluate --errors": ["evaluate", "TAGGER", "GOLD", "--errors"],
    "curves": ["curves", "TAGGER", "--out"],
    "confidence": ["confidence", "TAGGER", "--gold", "GOLD", "--out"],
    "feature-map": ["feature-map", "TAGGER", "--source", "NEWS", "--target", "NEWS", "--out"],
    "compare-text": ["compare-text", "NEWS", "NEWS", "--plot"],
}


@pytest.fixture
def said(files: Files, tagger: Path, here: Path):
    """What a command says about a place."""
    names = {"NEWS": files.news, "TWEETS": files.tweets, "GOLD": files.gold, "TAGGER": tagger}

    def said(words: list[str], place: Path) -> str:
        answer = acclimate(*(names.get(word, word) for word in words), place, code=2)
        assert answer.out == ""
        assert list(here.iterdir()) == []
        return answer.err

    return said


@pytest.mark.parametrize("command", FOLDERS)
def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(command: str, said, files: Files) -> None:
    option = FOLDERS[command][-1]
    expected = f"error: {option} {files.dev / 'below' / 'a'}: nothing can be written in {files.dev}, which is a file. "
    assert said(FOLDERS[command], files.dev / "below" / "a") == f"{expected}Choose another {option}.\n"
    assert f"{files.dev} is a file; " in said(FOLDERS[command], files.dev)


@pytest.mark.parametrize("command", FILES)
def test_a_file_that_cannot_be_made_is_named_with_what_to_do(command: str, said, files: Files) -> None:
    place = files.dev / "below" / "a.png"
    expected = f"error: {FILES[command][-1]} {place}: nothing can be written in {files.dev}, which is a file. "
    assert said(FILES[command], place) == f"{expected}Name a file elsewhere.\n"


def test_missing_permission_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match=f"nothing can be written in {tmp_path}, for want of permission. Choose"):
        check_folder_to_write("--out", tmp_path / "a" / "b")
    with pytest.raises(UsageError, match=f"nothing can be written in {tmp_path}, for want of permission. Name a file"):
        check_file_to_write("--out", tmp_path / "a" / "b.txt")


def test_what_can_be_made_passes(tmp_path: Path) -> None:
    check_folder_to_write("--out", tmp_path / "a" / "b", "a run")
    check_file_to_write("--out", tmp_path / "a" / "b.txt", overwrite=False)
    check_file_to_write("--out", None)


def test_convert_names_the_place_without_numbers_of_the_machine(files: Files) -> None:
    answer = acclimate("convert", files.gold, files.news / "below.conll", code=1)
    assert f"the file cannot be written (File exists: {files.news}). Name a file elsewhere." in answer.err
