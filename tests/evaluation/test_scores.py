"""The figures themselves: hand-computed ones, the corners, and what must hold whatever the tags are."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tag_sequences import corpus_of, gold_and_predicted

from acclimate.data.corpus import Corpus
from acclimate.evaluation.counts import Tally
from acclimate.evaluation.scores import score

# oracle 10_metrics
GOLD = corpus_of("B-PER I-PER O B-LOC O B-ORG I-ORG I-ORG")
PREDICTED = corpus_of("B-PER I-PER I-PER B-LOC O B-ORG O O")
FORGIVING_EXACT_MATCH = 2 / 3  # what MSLM's released code gives: it does not look past the right border


def test_span_figures_of_the_worked_example():
    span = score(GOLD, PREDICTED).span
    assert (span.precision, span.recall, span.f1) == pytest.approx((1 / 3, 1 / 3, 1 / 3))


def test_token_figures_of_the_worked_example_leave_outside_words_out():
    token = score(GOLD, PREDICTED).token
    assert (token.precision, token.recall, token.f1) == pytest.approx((0.8, 2 / 3, 0.7272727272727273))
    assert token.accuracy == pytest.approx(5 / 8)


def test_exact_match_counts_a_span_that_runs_past_its_right_border_as_wrong():
    exact_match = score(GOLD, PREDICTED).exact_match
    assert exact_match == pytest.approx(1 / 3)
    assert exact_match != pytest.approx(FORGIVING_EXACT_MATCH)


def test_exact_match_is_counted_over_the_whole_set_and_not_as_a_mean_of_its_parts():
    gold, predicted = corpus_of("B-PER", "B-PER B-PER B-PER"), corpus_of("B-PER", "O O O")
    parts = [score(gold[part : part + 1], predicted[part : part + 1]).exact_match for part in (0, 1)]
    assert sum(parts) / 2 == 0.5
    assert score(gold, predicted).exact_match == 0.25


def test_exact_match_divides_by_the_gold_spans_only():
    assert score(corpus_of("B-PER O O"), corpus_of("B-PER B-PER B-LOC")).exact_match == 1.0
    assert score(corpus_of("B-PER"), corpus_of("B-LOC")).exact_match == 0.0  # the class counts


def test_each_half_of_the_sentences_has_its_own_exact_match():
    by_length = score(corpus_of("B-PER", "B-PER O O"), corpus_of("B-PER", "B-PER I-PER O")).by_length
    assert (by_length.short.exact_match, by_length.long.exact_match) == (1.0, 0.0)
    assert by_length.as_dict()["long"]["exact_match"] == 0.0


def test_token_figures_keep_the_tag_prefix():
    assert score(corpus_of("B-PER I-PER"), corpus_of("B-PER B-PER")).token.f1 == 0.5


def test_macro_is_the_mean_of_the_labels_figures():
    scores = score(corpus_of("B-PER B-PER B-PER B-LOC"), corpus_of("B-PER B-PER B-PER O"))
    assert scores.macro.f1 == 0.5
    assert scores.span.f1 == pytest.approx(6 / 7)


def test_a_label_that_is_only_predicted_counts_in_the_mean():
    assert score(corpus_of("B-PER O"), corpus_of("B-PER B-LOC")).macro.precision == 0.5


def test_figures_by_label_have_their_own_counts():
    by_label = score(GOLD, PREDICTED).by_label
    assert by_label == {"LOC": Tally(1, 1, 1), "ORG": Tally(1, 1, 0), "PER": Tally(1, 1, 0)}


def test_typeless_forgives_labels_but_not_borders():
    scores = score(corpus_of("B-PER I-PER O B-LOC"), corpus_of("B-LOC I-LOC O O"))
    assert scores.typeless == Tally(2, 1, 1)
    assert scores.span == Tally(2, 1, 0)


def test_typeless_keeps_neighbours_of_unlike_labels_apart():
    scores = score(corpus_of("B-PER I-PER B-LOC"), corpus_of("I-LOC I-LOC I-PER"))
    assert scores.typeless == Tally(2, 2, 2)


def test_a_sentence_is_right_only_when_nothing_is_missing_and_nothing_invented():
    scores = score(corpus_of("B-PER O", "B-PER O", "O O"), corpus_of("B-PER O", "B-PER B-LOC", "O O"))
    assert scores.sentence_accuracy == pytest.approx(2 / 3)


def test_the_lenient_reading_begins_a_span_without_b_and_the_strict_one_does_not():
    gold, predicted = corpus_of("B-PER I-PER O"), corpus_of("I-PER I-PER O")
    assert score(gold, predicted).span == Tally(1, 1, 1)
    assert score(gold, predicted, reading="strict").span == Tally(1, 0, 0)


def test_the_scorer_is_named():
    assert score(GOLD, PREDICTED).scorer == "acclimate span F1, lenient reading (= conlleval, seqeval default)"
    assert "mode='strict', scheme=IOB2" in score(GOLD, PREDICTED, reading="strict").scorer


def test_confusion_counts_labels_against_labels_and_what_has_no_partner():
    confusion = score(corpus_of("B-PER I-PER O B-LOC O B-ORG"), corpus_of("B-LOC O O B-LOC B-PER O")).confusion
    assert confusion.pairs == {"PER": {"LOC": 1}, "LOC": {"LOC": 1}}
    assert (confusion.missed, confusion.spurious) == ({"ORG": 1}, {"PER": 1})


def test_sentences_are_short_up_to_the_mean_length_and_long_beyond():
    by_length = score(corpus_of("B-PER", "B-PER O O"), corpus_of("B-PER", "O O O")).by_length
    assert by_length.mean_length == 2
    assert (by_length.short.span, by_length.long.span) == (Tally(1, 1, 1), Tally(1, 0, 0))


# plain tags


def test_plain_tags_are_scored_word_by_word():
    scores = score(corpus_of("DET NOUN VERB O", kind="plain"), corpus_of("DET NOUN NOUN O", kind="plain"))
    assert scores.span == Tally(4, 4, 3)
    assert (scores.token.gold, scores.token.predicted, scores.token.correct) == (4, 4, 3)
    assert scores.token.accuracy == scores.span.f1 == scores.exact_match == 0.75


def test_plain_tags_have_figures_by_tag_and_their_mean_but_no_borders():
    scores = score(corpus_of("DET NOUN VERB", kind="plain"), corpus_of("DET NOUN NOUN", kind="plain"))
    assert scores.by_label == {"DET": Tally(1, 1, 1), "NOUN": Tally(1, 2, 1), "VERB": Tally(1, 0, 0)}
    assert scores.macro.f1 == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert scores.typeless is None


def test_the_scorer_of_plain_tags_says_that_it_counts_words():
    corpus = corpus_of("DET", kind="plain")
    assert "micro averages over words" in score(corpus, corpus).scorer


# corners


def every_number(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in every_number(part)]
    return [value] if isinstance(value, int | float) else []


CORNERS = [
    (corpus_of(), corpus_of()),
    (corpus_of("O O"), corpus_of("O O")),
    (corpus_of("B-PER O"), corpus_of("O O")),
    (corpus_of("O O"), corpus_of("B-PER O")),
    (corpus_of(kind="plain"), corpus_of(kind="plain")),
]


@pytest.mark.parametrize(("gold", "predicted"), CORNERS)
@pytest.mark.parametrize("reading", ["lenient", "strict"])
def test_nothing_to_count_gives_zeros_and_never_nan(gold, predicted, reading):
    scores = score(gold, predicted, seen=gold, reading=reading)
    assert scores.span.f1 == scores.macro.f1 == 0.0
    assert all(math.isfinite(number) for number in every_number(scores.as_dict()))


def test_a_perfect_prediction_scores_one_everywhere():
    scores = score(GOLD, GOLD)
    assert {scores.span.f1, scores.macro.f1, scores.token.f1, scores.token.accuracy, scores.exact_match} == {1.0}
    assert scores.sentence_accuracy == scores.typeless.f1 == 1.0


def test_scores_survive_json():
    stored = score(GOLD, PREDICTED, seen=GOLD).as_dict()
    assert json.loads(json.dumps(stored, allow_nan=False)) == stored


def test_every_promised_figure_has_its_key():
    keys = score(GOLD, PREDICTED).as_dict().keys()
    assert keys >= {"span", "macro", "token", "exact_match", "sentence_accuracy", "by_label", "typeless", "unseen"}
    assert keys >= {"by_length", "confusion", "sentences", "words", "scorer"}


# whatever the tags are

READINGS = st.sampled_from(["lenient", "strict"])


@settings(max_examples=100, deadline=None)
@given(gold_and_predicted(legal=False), READINGS)
def test_counts_add_up_over_labels_and_lengths(tags, reading):
    scores = score(*(corpus_of(*rows) for rows in tags), reading=reading)
    groups = scores.by_length
    assert sum(scores.by_label.values(), Tally()) == scores.span == groups.short.span + groups.long.span


@settings(max_examples=100, deadline=None)
@given(gold_and_predicted(legal=False), READINGS)
def test_confusion_counts_every_span_once(tags, reading):
    scores = score(*(corpus_of(*rows) for rows in tags), reading=reading)
    paired = sum(sum(row.values()) for row in scores.confusion.pairs.values())
    assert paired + sum(scores.confusion.missed.values()) == scores.span.gold
    assert paired + sum(scores.confusion.spurious.values()) == scores.span.predicted


@settings(max_examples=100, deadline=None)
@given(gold_and_predicted(legal=False), st.randoms(use_true_random=False))
def test_the_order_of_sentences_does_not_matter(tags, random):
    gold, predicted = (corpus_of(*rows) for rows in tags)
    order = random.sample(range(len(gold)), len(gold))
    shuffled = (Corpus.of(corpus[place] for place in order) for corpus in (gold, predicted))
    assert score(*shuffled, seen=gold) == score(gold, predicted, seen=gold)


@settings(max_examples=100, deadline=None)
@given(gold_and_predicted(legal=False))
def test_swapping_gold_and_prediction_swaps_precision_and_recall(tags):
    gold, predicted = (corpus_of(*rows) for rows in tags)
    there, back = score(gold, predicted), score(predicted, gold)
    assert (there.span.precision, there.token.recall) == (back.span.recall, back.token.precision)


@settings(max_examples=100, deadline=None)
@given(gold_and_predicted(legal=True))
def test_both_readings_agree_on_well_formed_tags(tags):
    gold, predicted = (corpus_of(*rows) for rows in tags)
    lenient, strict = score(gold, predicted).as_dict(), score(gold, predicted, reading="strict").as_dict()
    assert lenient | {"scorer": ""} == strict | {"scorer": ""}


@settings(max_examples=100, deadline=None)
@given(gold_and_predicted(legal=False))
def test_forgiving_labels_never_lowers_the_score(tags):
    scores = score(*(corpus_of(*rows) for rows in tags))
    assert scores.typeless.correct >= scores.span.correct
