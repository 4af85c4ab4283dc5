"""Character spans meet words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.character_spans import CharacterSpan, align, spans_within, without_cuts
from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus
from acclimate.data.schemes import Span
from acclimate.data.words import find_words

TEXT = "The New York-based firm"
WORDS = [(0, 3), (4, 7), (8, 18), (19, 23)]
CUT = CharacterSpan(4, 12, "LOC")  # New York, out of New York-based


def test_a_span_on_word_borders_needs_no_policy():
    aligned = align([CharacterSpan(0, 7, "X")], WORDS, TEXT, "error")
    assert (aligned.spans, aligned.misses) == ([Span(0, 2, "X")], [])


def test_blanks_at_the_ends_of_a_span_do_not_matter():
    assert align([CharacterSpan(3, 8, "X")], WORDS, TEXT, "error").spans == [Span(1, 2, "X")]


def test_on_request_a_cut_word_stops_and_all_is_said():
    with pytest.raises(InputError) as caught:
        align([CUT], WORDS, TEXT, "error")
    assert all(said in str(caught.value) for said in ("LOC", "'New York'", "'York-based'", '"expand"', '"drop"'))


@pytest.mark.parametrize(
    ("policy", "spans", "outcome"),
    [
        ("expand", [Span(1, 3, "LOC")], "expanded"),
        ("drop", [], "dropped"),
    ],
)
def test_each_policy_does_what_it_says_and_lists_the_miss(policy, spans, outcome):
    aligned = align([CUT], WORDS, TEXT, policy)
    assert aligned.spans == spans
    assert [(miss.outcome, miss.text) for miss in aligned.misses] == [(outcome, "New York")]


def test_two_spans_cannot_both_take_in_one_word():
    aligned = align([CharacterSpan(8, 12, "LOC"), CharacterSpan(13, 18, "X")], WORDS, TEXT, "expand")
    assert aligned.spans == [Span(2, 3, "LOC")]
    assert [miss.outcome for miss in aligned.misses] == ["expanded", "dropped"]


def test_a_span_of_blanks_covers_no_word():
    with pytest.raises(InputError, match="covers no word"):
        align([CharacterSpan(3, 4, "X")], WORDS, TEXT, "error")


def test_overlapping_spans_are_both_named():
    with pytest.raises(InputError, match=r"A 'The New'.*B 'New'.*overlap"):
        align([CharacterSpan(0, 7, "A"), CharacterSpan(4, 7, "B")], WORDS, TEXT, "error")


def test_a_span_that_stands_twice_is_taken_once():
    aligned = align([CharacterSpan(0, 3, "A")] * 2, WORDS, TEXT, "error")
    assert (aligned.spans, aligned.twice) == ([Span(0, 1, "A")], 1)


@given(text=st.text(alphabet="ab .-", min_size=1, max_size=30), data=st.data())
def test_no_span_is_lost_without_a_word(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    span = CharacterSpan(start, data.draw(st.integers(start + 1, len(text))), "X")
    policy = data.draw(st.sampled_from(["expand", "drop"]))
    aligned = align([span], find_words(text), text, policy)
    assert len(aligned.spans) == 1 or [miss.outcome for miss in aligned.misses] == ["dropped"]


def test_a_span_across_a_sentence_border_joins_the_sentences(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "He met Mr.\nBean. Then\nleft.", "label": [[7, 15, "PER"]]}))
    corpus = read_corpus(path)
    assert [len(sentence) for sentence in corpus] == [6, 2]
    assert [corpus[0].words[span.start : span.end] for span in corpus[0].spans] == [("Mr.", "Bean")]


def test_stretches_join_only_where_something_crosses():
    assert without_cuts([(0, 5), (6, 9), (10, 12)], [(3, 7)]) == [(0, 9), (10, 12)]


def test_a_miss_in_a_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "ok", "label": []}\n{"text": "New York-based", "label": [[0, 8, "LOC"]]}\n')
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: span LOC 'New York' \(0:8\) misses word borders"):
        read_corpus(path, borders="error")


def test_misses_in_a_file_are_listed_in_the_notes(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "New York-based", "label": [[0, 8, "LOC"]]}\n')
    corpus = read_corpus(path, borders="expand")
    assert corpus[0].tags == ("B-LOC", "I-LOC")
    assert str(corpus.notes.border_misses[0]) == f"{path}, line 1: LOC 'New York' (0:8) misses word borders; expanded."


def test_by_default_a_word_is_split_at_the_borders_of_a_span(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "He left Acme Corp. in May.", "label": [[8, 17, "ORG"]]}\n')
    corpus = read_corpus(path)
    assert corpus[0].words == ("He", "left", "Acme", "Corp", ".", "in", "May", ".")
    assert corpus[0].tags == ("O", "O", "B-ORG", "I-ORG", "O", "O", "O", "O")
    assert [corpus[0].text[start:end] for start, end in corpus[0].offsets] == list(corpus[0].words)
    told = f"{path}, line 1: ORG 'Acme Corp' (8:17) misses word borders; the word was split."
    assert [str(miss) for miss in corpus.notes.border_misses] == [told]


def test_two_spans_may_share_a_word_that_is_split():
    aligned = align([CharacterSpan(8, 12, "LOC"), CharacterSpan(13, 18, "X")], WORDS, TEXT, "split")
    assert aligned.words == [(0, 3), (4, 7), (8, 12), (12, 13), (13, 18), (19, 23)]
    assert aligned.spans == [Span(2, 3, "LOC"), Span(4, 5, "X")]
    assert len(aligned.misses) == 2


def test_offsets_that_count_something_else_are_refused_though_words_may_be_split(tmp_path):
    path = tmp_path / "a.jsonl"
    text = "é" * 3 + " went to Paris with Anna"
    by_bytes = {"text": text, "label": [[15, 20, "LOC"]]}
    path.write_text(f"{json.dumps(by_bytes)}\n" * 10)
    with pytest.raises(InputError, match=r"a\.jsonl, line 1: 10 of 10 spans.*Do the offsets count bytes"):
        read_corpus(path)


class _Watched(Span):
    """A span that counts how often somebody asks where it begins."""

    asked = 0

    def __getattribute__(self, name):
        _Watched.asked += name == "start"
        return super().__getattribute__(name)


def test_a_sentence_looks_at_few_of_the_spans_of_a_long_document():
    spans = [_Watched(place, place + 1, "X") for place in range(0, 10_000, 2)]
    _Watched.asked = 0
    assert spans_within(spans, 5000, 5004) == [Span(0, 1, "X"), Span(2, 3, "X")]
    assert _Watched.asked < 50
