"""Plain text."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acclimate.data.reading import read_corpus


@pytest.fixture
def read(tmp_path):
    def reader(content, **options):
        (tmp_path / "a.txt").write_bytes(content.encode("utf-8"))
        return read_corpus(tmp_path / "a.txt", "text", **options)

    return reader


def test_a_line_is_a_sentence_of_found_words(read):
    corpus = read("Don't go. Stay.\n\nok\n")
    assert [one.words for one in corpus] == [("Do", "n't", "go", ".", "Stay", "."), ("ok",)]
    assert [one.place.line for one in corpus] == [1, 3]
    assert not corpus.is_labelled


def test_text_that_was_split_already_is_split_at_blanks(read):
    assert read("Do n't  go\u00a0now\t!\n", tokenize="blanks")[0].words == ("Do", "n't", "go\u00a0now", "!")


def test_paragraphs_are_split_and_share_their_text(read):
    corpus = read("Go. Stay here.\n", paragraphs=True)
    assert [one.words for one in corpus] == [("Go", "."), ("Stay", "here", ".")]
    assert corpus[0].text is corpus[1].text
    assert corpus[1].offsets == ((4, 8), (9, 13), (13, 14))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")),
    paragraphs=st.booleans(),
    tokenize=st.sampled_from(["words", "blanks"]),
)
def test_nothing_is_lost_and_offsets_point_at_the_words(read, text, paragraphs, tokenize):
    corpus = read(f"anchor\n{text}", paragraphs=paragraphs, tokenize=tokenize)
    for sentence in corpus:
        assert [sentence.text[start:end] for start, end in sentence.offsets] == list(sentence.words)
    kept = "".join(word for sentence in corpus for word in sentence.words)
    assert "".join(kept.split()) == "anchor" + "".join(text.split())


def test_bad_lines_can_be_skipped(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"good\nb\xe4d\nalso good\n")
    corpus = read_corpus(tmp_path / "a.txt", "text", skip_bad=True)
    assert [one.words for one in corpus] == [("good",), ("also", "good")]
    assert [skipped.place.line for skipped in corpus.notes.skipped] == [2]
