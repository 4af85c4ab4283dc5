"""Mistakes, each under the name a reader would give it."""

import json

import pytest
from hypothesis import given, settings
from tag_sequences import corpus_of, gold_and_predicted

from acclimate.data.corpus import Corpus
from acclimate.data.schemes import Span
from acclimate.evaluation.errors import MISTAKE_KINDS, Mistake, count_errors, report_errors
from acclimate.evaluation.scores import score


def find_errors(gold: Corpus, predicted: Corpus) -> tuple[Mistake, ...]:
    return report_errors(gold, predicted).mistakes


KINDS = [
    ("B-PER I-PER O", "O O O", ["missed"]),
    ("O O O", "B-PER O O", ["spurious"]),
    ("B-PER I-PER O", "B-LOC I-LOC O", ["wrong label"]),
    ("B-PER I-PER O", "B-PER I-PER I-PER", ["wrong border"]),
    ("B-PER I-PER O", "B-LOC O O", ["wrong label and border"]),
    ("B-PER I-PER O", "B-PER I-PER O", []),
    ("B-PER I-PER I-PER", "B-PER B-LOC I-LOC", ["wrong border", "spurious"]),
    ("B-PER B-LOC O", "B-PER I-PER O", ["wrong border", "missed"]),
    ("B-PER O B-LOC", "O B-PER O", ["missed", "spurious", "missed"]),
]


@pytest.mark.parametrize(("gold", "predicted", "kinds"), KINDS)
def test_each_mistake_has_its_kind(gold, predicted, kinds):
    assert [mistake.kind for mistake in find_errors(corpus_of(gold), corpus_of(predicted))] == kinds


def test_a_mistake_says_where_it_stands():
    (mistake,) = find_errors(corpus_of("O", "B-PER I-PER"), corpus_of("O", "B-PER O"))
    assert (mistake.sentence, mistake.gold, mistake.predicted) == (1, Span(0, 2, "PER"), Span(0, 1, "PER"))
    assert (mistake.kind, mistake.words) == ("wrong border", ("w0", "w1"))


def test_equal_borders_find_each_other_before_equal_labels():
    mistakes = find_errors(corpus_of("B-PER I-PER B-LOC"), corpus_of("B-LOC I-LOC B-PER"))
    assert [mistake.kind for mistake in mistakes] == ["wrong label", "wrong label"]


def test_a_wrong_plain_tag_is_a_wrong_label():
    mistakes = find_errors(corpus_of("DET NOUN", kind="plain"), corpus_of("DET VERB", kind="plain"))
    assert [(mistake.kind, mistake.gold) for mistake in mistakes] == [("wrong label", Span(1, 2, "NOUN"))]


def test_counts_name_every_kind():
    counts = count_errors(find_errors(corpus_of("B-PER O O"), corpus_of("O O O")))
    assert counts == {**dict.fromkeys(MISTAKE_KINDS, 0), "missed": 1}


def test_mistakes_can_be_stored():
    mistakes = find_errors(corpus_of("B-PER O O"), corpus_of("O O B-LOC"))
    stored = [mistake.as_dict() for mistake in mistakes]
    assert json.loads(json.dumps(stored)) == stored


@settings(max_examples=100, deadline=None)
@given(gold_and_predicted(legal=False))
def test_mistakes_and_right_spans_are_all_spans(tags):
    gold, predicted = (corpus_of(*rows) for rows in tags)
    mistakes, span = find_errors(gold, predicted), score(gold, predicted).span
    assert sum(mistake.gold is not None for mistake in mistakes) == span.gold - span.correct
    assert sum(mistake.predicted is not None for mistake in mistakes) == span.predicted - span.correct
