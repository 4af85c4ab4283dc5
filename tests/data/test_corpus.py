"""The corpus and its sentences."""

from __future__ import annotations

import pytest

from acclimate.data.corpus import Corpus, ReadingNotes, Sentence
from acclimate.data.problems import Place
from acclimate.data.schemes import Span

ANNA = Sentence(("Anna", "sleeps"), ("B-PER", "O"), place=Place("a.conll", 1))
OSLO = Sentence(("in", "New", "Oslo"), ("O", "B-LOC", "I-LOC"))
CORPUS = Corpus.of([ANNA, OSLO], "two")
NOUNS = Corpus.of([Sentence(("cats", "sleep"), ("NOUN", "VERB"))], "pos", "plain")


def test_a_sentence_needs_a_word():
    with pytest.raises(ValueError, match="at least one word"):
        Sentence(())


@pytest.mark.parametrize("fields", [{"tags": ("O",)}, {"offsets": ((0, 1), (1, 2), (2, 3))}])
def test_every_word_has_its_tag_and_offset(fields):
    with pytest.raises(ValueError, match="2 words but"):
        Sentence(("a", "b"), **fields)


def test_spans_and_tags_are_two_views_of_one_thing():
    assert OSLO.spans == [Span(1, 3, "LOC")]
    assert OSLO.with_tags(None).with_spans(OSLO.spans) == OSLO


def test_unlabelled_really_drops_the_tags():
    bare = CORPUS.unlabelled()
    assert not bare.is_labelled
    assert all(sentence.tags is None and sentence.spans == [] for sentence in bare)
    assert "PER" not in repr(vars(bare))


def test_unlabelled_leaves_the_original_alone():
    CORPUS.unlabelled()
    assert CORPUS[0].tags == ("B-PER", "O")


def test_labelled_keeps_only_sentences_with_tags():
    mixed = Corpus.of([ANNA, OSLO.with_tags(None)])
    assert list(mixed.labelled()) == [ANNA]


@pytest.mark.parametrize(
    "other",
    [
        Corpus.of([ANNA]),
        Corpus.of([OSLO, ANNA]),
        Corpus.of([ANNA, OSLO.with_tags(["O", "O", "O"])]),
        Corpus.of([ANNA, Sentence(("in", "New", "Oslo!"), OSLO.tags)]),
        CORPUS.unlabelled(),
    ],
)
def test_the_fingerprint_changes_with_any_word_or_tag(other):
    assert other.fingerprint != CORPUS.fingerprint


def test_the_fingerprint_does_not_depend_on_name_or_place():
    moved = Corpus.of([Sentence(ANNA.words, ANNA.tags), OSLO], "another name")
    assert moved.fingerprint == CORPUS.fingerprint


def test_labels_are_counted_by_span():
    assert CORPUS.label_counts == {"PER": 1, "LOC": 1}
    assert CORPUS.labels.tags() == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")


def test_plain_labels_are_counted_by_word():
    assert NOUNS.label_counts == {"NOUN": 1, "VERB": 1}
    assert NOUNS.labels.tags() == ("NOUN", "VERB")


def test_a_slice_is_a_corpus_and_an_item_a_sentence():
    assert isinstance(CORPUS[:1], Corpus)
    assert CORPUS[1] is OSLO


def test_two_corpora_join_with_their_notes():
    left = Corpus((ANNA,), "a", notes=ReadingNotes("conll", "IOB1", repaired=1))
    right = Corpus((OSLO,), "b", notes=ReadingNotes("jsonl", "IOB1", repaired=2, remarks=("one",)))
    assert (left + right).notes == ReadingNotes("several", "IOB1", 3, remarks=("one",))


def test_spans_and_plain_tags_do_not_join():
    with pytest.raises(ValueError, match="keep them apart"):
        _ = CORPUS + NOUNS


def test_unlabelled_text_joins_with_either_kind():
    assert (NOUNS + CORPUS.unlabelled()).kind == "plain"
    assert (CORPUS.unlabelled() + NOUNS).kind == "plain"


def test_words_are_counted_as_they_are_written():
    assert CORPUS.word_count == 5
    assert CORPUS.vocabulary["Anna"] == 1
    assert "anna" not in CORPUS.vocabulary


def test_other_tags_must_be_as_many_as_sentences():
    with pytest.raises(ValueError, match="shorter"):
        CORPUS.with_tags([["O", "O"]])
