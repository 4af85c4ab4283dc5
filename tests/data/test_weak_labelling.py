"""Weak labels: overlaps, counts, abbreviations, and streams of raw text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.concepts.dictionary import ConceptDictionary
from acclimate.data.concepts.files import Concept
from acclimate.data.concepts.labelling import (
    REACH,
    Groups,
    Labeller,
    Mention,
    choose,
    explains,
)
from acclimate.data.corpus import Sentence
from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus
from acclimate.data.selection import text_files as text_blocks
from acclimate.data.selection.text_files import RawText

GROUPS = Groups.load()
CONCEPTS = [
    Concept("heart failure", ("CHF",), ("T047",)),
    Concept("failure to thrive", (), ("T184",)),
    Concept("familial adenomatous polyposis", (), ("T047",)),
    Concept("aspirin", (), ("T121",)),
]


def labeller(concepts: Sequence[Concept] = CONCEPTS, **options: Any) -> Labeller:
    return Labeller(ConceptDictionary([concepts], GROUPS), **options)


def sentence(text: str, document: str | None = None, tags: str | None = None) -> Sentence:
    return Sentence(tuple(text.split()), tuple(tags.split()) if tags else None, document=document)


def tags_of(found: Iterator[Sentence]) -> list[str]:
    return [" ".join(one.tags or ()) for one in found]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=12))
def test_the_longest_is_kept_then_the_leftmost(places: list[tuple[int, int]]) -> None:
    found = [Mention(start, start + length, "X", str(number)) for number, (start, length) in enumerate(places)]
    kept = choose(found)
    assert kept == sorted(kept, key=lambda one: one.start)
    assert all(one.end <= other.start for one, other in combinations(kept, 2))
    for lost in found:  # whatever was given up was given up for something that goes before it
        if lost not in kept:
            rivals = [one for one in kept if one.start < lost.end and lost.start < one.end]
            assert min((-len(one), one.start) for one in rivals) <= (-len(lost), lost.start)


def test_tags_are_iob2_and_those_that_were_there_are_gone() -> None:
    found = tags_of(
        labeller().label([sentence("severe heart failure , aspirin", tags="B-X B-X O O O"), sentence("no")])
    )
    assert found == ["O B-DISEASE I-DISEASE O B-TREATMENT", "O"]


def test_what_was_met_is_counted() -> None:
    one = labeller()
    list(one.label([sentence("heart failure to thrive and aspirin"), sentence("aspirin"), sentence("well")]))
    counts = one.coverage
    assert (counts.sentences, counts.labelled_sentences, counts.words, counts.covered_words) == (3, 2, 8, 5)
    assert counts.spans == {"TREATMENT": 2, "SYMPTOM": 1}
    assert counts.names == {("aspirin", "TREATMENT"): 2, ("failure to thrive", "SYMPTOM"): 1}
    assert counts.as_dict(1)["most_frequent"] == [["aspirin", "TREATMENT", 2]]


def test_an_abbreviation_that_is_explained_is_found_until_the_document_ends() -> None:
    text = [
        sentence("familial adenomatous polyposis ( FAP ) and FAP", "1"),
        sentence("FAP", "1"),
        sentence("fap", "1"),
        sentence("FAP", "2"),
    ]
    expected = ["B-DISEASE I-DISEASE I-DISEASE O B-DISEASE O O B-DISEASE", "B-DISEASE", "O", "O"]
    one = labeller()
    assert tags_of(one.label(text)) == expected
    assert (one.coverage.explained, one.coverage.by_abbreviation) == (1, 3)
    assert tags_of(labeller(abbreviations=False).label(text))[1] == "O"


def test_without_documents_an_explanation_reaches_a_few_sentences() -> None:
    text = [sentence("familial adenomatous polyposis ( FAP )"), *[sentence("FAP")] * (REACH + 1)]
    assert tags_of(labeller().label(text))[1:] == ["B-DISEASE"] * REACH + ["O"]


@pytest.mark.parametrize(
    ("long", "short", "expected"),
    [
        ("ataxia - telangiectasia", "A-T", True),
        ("heart failure", "CHF", False),  # begins with another letter
        ("heart failure", "HX", False),
        ("heart failure", "Hf", False),  # one capital is no abbreviation
        ("ms", "MS", False),
        ("spinocerebellar ataxia type 1", "SCA1", True),
    ],
)
def test_a_short_form_has_letters_of_the_long_one_in_order(long: str, short: str, expected: bool) -> None:
    assert explains(long, short) is expected


def test_raw_text_is_the_same_as_the_reader_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Heart failure. He's well!\r\n\nNo. 5 naïve \U0001f600 aspirin\nlast line without end"
    file = tmp_path / "notes.txt"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    monkeypatch.setattr(text_blocks, "BLOCK", 16)
    monkeypatch.setattr(text_blocks, "PIECE", 40)
    for options in ({}, {"paragraphs": True}, {"tokenize": "blanks"}):
        seen: list[int] = []
        raw = RawText(file, **options)  # type: ignore[arg-type]
        raw.watch = lambda stored, of, text, seen=seen: seen.append(stored)  # type: ignore[misc]
        mine = list(raw.sentences())
        read = list(read_corpus(file, "text", **options))  # type: ignore[arg-type]
        assert [(one.words, one.offsets, one.text) for one in mine] == [
            (one.words, one.offsets, one.text) for one in read
        ]
        assert seen[-1] == raw.size == file.stat().st_size
    assert len({one.document for one in RawText(file, paragraphs=True).sentences()}) == 3


def test_lines_keep_their_numbers_and_long_ones_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_text("one\n" + "word " * 300_000 + "\nthree\n", encoding="utf-8")
    raw = RawText(file)
    assert [(one.words, one.place.line) for one in raw.sentences()] == [(("one",), 1), (("three",), 3)]
    assert raw.lines_too_long == 1


def test_a_folder_is_read_file_by_file_each_a_document(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.txt").write_text(f"text {name}\n", encoding="utf-8")
    assert [(one.words[1], one.document) for one in RawText(tmp_path).sentences()] == [("a", "a"), ("b", "b")]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no \.txt files"):
        RawText(tmp_path / "empty")
