"""The log of changed sentences: what runs write is what is read, and damage is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acclimate.analysis.curves import read_curves
from acclimate.analysis.run_records import ChangedRow, how, read_changes
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.schemes import Span
from acclimate.methods.word_edits import WordEdit, noted_row
from acclimate.model.tagger import Tagger
from acclimate.runs.train import adapt
from acclimate.training.record import Record

Build = Callable[..., Tagger]
EDITS = (WordEdit(0, 1, None), WordEdit(1, 1, ("very",)), WordEdit(2, 4, ("x",), "LOC"), WordEdit(4, 5, ()))
WORDS = ("a", "b", "c", "d", "e")
GOOD = noted_row(WORDS, EDITS)


def entry(**changed: Any) -> dict[str, Any]:
    return {"kind": "changes", "stage": "mat", "update": 3, "by": "masked noise", "rows": [GOOD], **changed}


def edited(**changed: Any) -> dict[str, Any]:
    return entry(rows=[{"words": ["a", "b"], "edits": [{"start": 0, "end": 1, "by": None, **changed}]}])


def run_of(recipe: str, tagger: Tagger, news: Corpus, tweets: Corpus, out: Path, **options: Any) -> list[ChangedRow]:
    given = {"training": {"updates": 10, "words_per_batch": 60}, "select": "last", "out": out}
    adapt(tagger, news, tweets[4:].unlabelled(), recipe, target_labelled=tweets[:4], **given, **options)
    return list(read_changes(out))


def test_what_the_record_writes_is_what_is_read(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.add("update", "mat", 3, changes=0.5)
    record.add("changes", "mat", 3, by="anchors", rows=[noted_row(WORDS, EDITS, "target")])
    assert list(read_changes(tmp_path)) == [ChangedRow("mat", 3, "anchors", WORDS, EDITS, "target")]


def test_a_word_that_is_half_a_character_does_not_end_a_run(tmp_path: Path) -> None:
    rows = [noted_row(["\ud800"], [WordEdit(0, 1, ("\udfff",))])]
    for update in (1, 2):
        Record(tmp_path).add("changes", "mat", update, by="twins", rows=rows)
    Record(tmp_path).rewind("mat", 1)
    (found,) = read_changes(tmp_path)
    assert (found.words, found.edits[0].by) == (("\ud800",), ("\udfff",))


def test_an_edit_swaps_hides_or_leaves_out() -> None:
    assert [how(edit) for edit in EDITS] == ["hidden", "swapped", "swapped", "left out"]


def test_a_folder_without_changes_has_none(tmp_path: Path) -> None:
    Record(tmp_path).add("update", "mat", 1, tag=0.5)
    assert list(read_changes(tmp_path)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        edited(start=-1),
        edited(end=3),
        edited(start=1, end=0),
        edited(by="Oslo"),
        edited(by=[1]),
        entry(rows=[{"words": "a b", "edits": []}]),
        entry(rows=[{"words": list("ab"), "edits": [{"start": 1, "end": 2, "by": None}, {"start": 0, "end": 1}]}]),
        entry(rows=[{"words": ["a"], "edits": [{"start": 0, "end": 1, "by": None}] * 2}]),
        entry(rows=[{"words": ["a"]}]),
        entry(rows=["a"]),
        entry(rows=3),
        entry(by=None, update="x"),
    ],
)
def test_a_damaged_entry_is_named_by_its_line(tmp_path: Path, wrong: dict[str, Any]) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(f"{json.dumps(entry())}\n{json.dumps(wrong)}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"records\.jsonl, line 2: an entry of changes needs stage, update, by"):
        list(read_changes(path))


def test_a_run_of_mat_logs_words_of_the_text_it_learns(build: Build, news, tweets, tmp_path: Path) -> None:
    logged = run_of("mat", build(), news, tweets, tmp_path, rate=1.0, hide=0.5)
    assert {(row.stage, row.by) for row in logged} == {("mat", "masked noise")}
    known = {sentence.words for sentence in (*news, *tweets[:4])}
    assert all(row.words in known and len(row.edits) == 1 for row in logged)
    vocabulary = {word for corpus in (news, tweets[:4]) for word in corpus.vocabulary}
    assert all(set(edit.by or ()) <= vocabulary for row in logged for edit in row.edits)
    assert {how(edit) for row in logged for edit in row.edits} == {"hidden", "swapped"}
    assert read_curves(tmp_path), "they do not stand in the way of the losses"


def test_without_masked_words_mat_logs_none(build: Build, news: Corpus, tweets: Corpus, tmp_path: Path) -> None:
    assert run_of("mat", build(), news, tweets, tmp_path, rate=0.0) == []


def test_a_run_of_pdaln_logs_twins_and_in_its_rounds_exchanged_entities(build, news, tweets, tmp_path: Path) -> None:
    logged = run_of("pdaln", build(), news, tweets, tmp_path, rounds=1)
    assert {(row.stage, row.by) for row in logged} == {
        ("align", "twins"),
        ("round-1", "twins"),
        ("round-1", "anchors"),
    }
    known = {sentence.words: sentence for sentence in (*news, *tweets[:4])}
    for row in logged:
        if row.by == "anchors":
            assert row.edits
            assert all(Span(edit.start, edit.end, edit.label or "") in known[row.words].spans for edit in row.edits)


def test_without_exchanged_entities_pdaln_logs_none(build: Build, news, tweets, tmp_path: Path) -> None:
    assert run_of("pdaln", build(), news, tweets, tmp_path, rounds=1, augment=False, contrast=0.0) == []
