"""`acclimate confidence`: how sure taggers are of each term."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import Files, acclimate

from acclimate.data.reading import read_corpus


def test_terms_and_the_tagger_are_told(tagger: Path, files: Files) -> None:
    answer = acclimate("confidence", tagger, "--gold", files.gold)
    spans = [span for sentence in read_corpus(files.gold) for span in sentence.spans]
    assert f"{len(spans)} mentions of" in answer.out
    assert "confidence by term" in answer.out
    assert answer.err == ""


def test_two_taggers_stand_side_by_side(tagger: Path, files: Files, tmp_path: Path) -> None:
    shutil.copytree(tagger, tmp_path / "again")
    found = acclimate("confidence", tagger, tmp_path / "again", "--gold", files.gold, "--most", 2, "--json").json
    one, other = found["taggers"]
    assert (one["name"], other["name"]) == (tagger.name, "again")
    assert one["confidence"] == other["confidence"]
    assert 0 < one["confidence"] <= 1
    assert len(found["terms"]) == 2


def test_picture_and_table_are_written(tagger: Path, files: Files, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture, tables = tmp_path / "sure.svg", tmp_path / "tables"
    acclimate("confidence", tagger, "--gold", files.gold, "--out", picture, "--csv", tables)
    assert picture.read_bytes().startswith(b"<?xml")
    rows = (tables / "confidence.csv").read_text(encoding="utf-8")
    assert rows.startswith("tagger,term,label,mentions,confidence,right\n")


def test_text_without_tags_is_refused(tagger: Path, files: Files) -> None:
    assert "has no tags to compare with" in acclimate("confidence", tagger, "--gold", files.tweets, code=1).err


def test_labels_that_the_tagger_does_not_know_are_refused(tagger: Path) -> None:
    assert "does not know: MISC" in acclimate("confidence", tagger, "--gold", "social/dev", code=1).err


def test_another_kind_of_picture_is_refused_before_anything_is_read() -> None:
    pytest.importorskip("matplotlib")
    answer = acclimate("confidence", "nowhere", "--gold", "nowhere.conll", "--out", "a.jpg", code=1)
    assert "must end in .png or .svg" in answer.err
