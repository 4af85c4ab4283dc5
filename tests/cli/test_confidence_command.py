"""`acclimate report --only confidence`: how sure taggers are of each term."""

from __future__ import annotations

import shutil
from pathlib import Path

from command_line import Answer, Files, acclimate

from acclimate.data.reading import read_corpus


def confidence(*words: object, code: int = 0) -> Answer:
    return acclimate("report", *words, "--only", "confidence", code=code)


def test_terms_and_the_tagger_are_told(tagger: Path, files: Files) -> None:
    answer = confidence(tagger, "--set", f"gold={files.gold}")
    spans = [span for sentence in read_corpus(files.gold) for span in sentence.spans]
    assert f"{len(spans)} mentions of" in answer.out
    assert "confidence by term" in answer.out
    assert answer.err == ""


def test_two_taggers_stand_side_by_side(tagger: Path, files: Files, tmp_path: Path) -> None:
    shutil.copytree(tagger, tmp_path / "again")
    found = confidence(tagger, tmp_path / "again", "--set", f"gold={files.gold}", "--set", "terms=2", "--json").json[
        "confidence"
    ]
    one, other = found["taggers"]
    assert (one["name"], other["name"]) == (tagger.name, "again")
    assert one["confidence"] == other["confidence"]
    assert 0 < one["confidence"] <= 1
    assert len(found["terms"]) == 2


def test_a_table_is_written(tagger: Path, files: Files, tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    confidence(tagger, "--set", f"gold={files.gold}", "--set", f"csv={tables}")
    rows = (tables / "confidence.csv").read_text(encoding="utf-8")
    assert rows.startswith("tagger,term,label,mentions,confidence,right\n")


def test_text_without_tags_is_refused(tagger: Path, files: Files) -> None:
    assert "has no tags to compare with" in confidence(tagger, "--set", f"gold={files.tweets}", code=1).err


def test_labels_that_the_tagger_does_not_know_are_refused(tagger: Path) -> None:
    assert "does not know: MISC" in confidence(tagger, "--set", "gold=social/dev", code=1).err


def test_without_a_gold_corpus_the_target_test_of_the_run_is_taken(run: tuple[Path, Answer], files: Files) -> None:
    kept = confidence(run[0], "--json").json["confidence"]
    named = confidence(run[0], "--set", f"gold={files.gold}", "--json").json["confidence"]
    assert kept["mentions"] > 0
    assert (kept["mentions"] == named["mentions"]) == (kept["taggers"] == named["taggers"])


def test_without_any_gold_corpus_the_option_is_named() -> None:
    assert "Name labelled sentences with --set gold=" in confidence("part-of-speech", code=2).err
