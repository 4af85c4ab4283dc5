"""The figures of Table 1."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from mask_rows import corpus

from acclimate.analysis.text_comparison import corpus_statistics
from acclimate.data.corpus import Corpus, Sentence

SOURCE = corpus("[Anna] left")
TEXT = corpus("[anna] saw [Bob] and [Bob]", "he left")


def test_every_figure_is_counted() -> None:
    (found,) = corpus_statistics({"text": TEXT}, SOURCE)
    assert (found.name, found.sentences, found.words, found.distinct_words) == ("text", 2, 7, 6)
    assert (found.spans, found.spans_per_sentence, found.mean_length) == (3, 1.5, 3.5)
    assert found.share_in_spans == pytest.approx(3 / 7)
    assert found.labels == {"X": 3}


def test_terms_are_different_spans() -> None:
    twice = corpus("[Bob] saw [bob] and [Anna]")
    assert [row.distinct_spans for row in corpus_statistics({"text": twice})] == [2]
    assert [row.distinct_spans for row in corpus_statistics({"text": twice.unlabelled()})] == [None]


def test_unseen_words_are_counted_by_occurrence_and_by_type() -> None:
    (found,) = corpus_statistics({"text": TEXT}, SOURCE)  # saw, Bob, and, Bob, he
    assert (found.unseen_words, found.unseen_types) == (pytest.approx(5 / 7), pytest.approx(4 / 6))


def test_without_a_source_nothing_is_unseen_or_seen() -> None:
    (found,) = corpus_statistics({"text": TEXT})
    assert (found.unseen_words, found.unseen_types) == (None, None)


def test_only_tagged_sentences_say_anything_of_spans() -> None:
    (found,) = corpus_statistics({"both": corpus("[Anna] left") + corpus("raw text here").unlabelled()})
    assert (found.spans, found.spans_per_sentence, found.share_in_spans) == (1, 1.0, 0.5)


@pytest.mark.parametrize("text", [TEXT.unlabelled(), Corpus.of([Sentence(("go",), ("VERB",))], kind="plain")])
def test_raw_text_and_plain_tags_have_no_spans(text: Corpus) -> None:
    (found,) = corpus_statistics({"text": text})
    assert (found.spans, found.spans_per_sentence, found.share_in_spans) == (None, None, None)


def test_an_empty_corpus_has_figures_too() -> None:
    (found,) = corpus_statistics({"empty": Corpus(())}, SOURCE)
    assert (found.words, found.mean_length, found.unseen_words, found.unseen_types) == (0, 0.0, 0.0, 0.0)


def test_figures_can_be_stored() -> None:
    (found,) = corpus_statistics({"text": TEXT}, SOURCE)
    assert json.loads(json.dumps(asdict(found)))["labels"] == {"X": 3}
