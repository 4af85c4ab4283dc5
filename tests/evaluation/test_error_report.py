"""Mistakes summed up: inventions, borders, and lengths of entities."""

import json

import pytest
from hypothesis import given
from tag_sequences import corpus_of, gold_and_predicted

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import Span
from acclimate.evaluation.counts import Tally, pair_up
from acclimate.evaluation.errors import (
    OverLabelled,
    border_fault,
    count_errors,
    report_errors,
    tally_by_entity_length,
)
from acclimate.evaluation.scores import score


def tagged(words: str, tags: str) -> Sentence:
    return Sentence(tuple(words.split()), tuple(tags.split()))


@pytest.mark.parametrize(
    ("predicted", "fault"),
    [
        ((1, 4), "too long"),
        ((2, 5), "too long"),
        ((0, 9), "too long"),
        ((2, 3), "too short"),
        ((3, 4), "too short"),
        ((1, 3), "shifted"),
        ((3, 6), "shifted"),
    ],
)
def test_borders_slip_in_three_ways(predicted, fault):
    assert border_fault(Span(2, 4, "PER"), Span(*predicted, "LOC")) == fault


def test_borders_are_counted_with_and_without_the_right_label():
    gold = corpus_of("B-PER I-PER O", "B-PER I-PER O", "O B-LOC I-LOC", "B-PER O O")
    said = corpus_of("B-PER I-PER I-PER", "B-LOC O O", "B-LOC I-LOC O", "B-LOC O O")
    report = report_errors(gold, said)
    assert report.borders == {"too long": 1, "too short": 1, "shifted": 1}
    assert report.kinds["wrong label"] == 1


def test_an_invention_is_over_labelled_and_a_second_half_is_not():
    gold = Corpus.of([tagged("Jared called Environmentor", "B-PER O O"), tagged("New York City", "B-LOC I-LOC I-LOC")])
    said = Corpus.of(
        [tagged("Jared called Environmentor", "B-PER O B-ORG"), tagged("New York City", "B-LOC I-LOC B-ORG")]
    )
    report = report_errors(gold, said)
    assert report.kinds["spurious"] == 2
    assert report.over_labelled == (OverLabelled("Environmentor", "ORG", 1, 0),)


def test_strings_that_the_gold_labels_elsewhere_are_told_apart():
    gold = Corpus.of([tagged("in Argentina", "O O"), tagged("Argentina won", "B-LOC O"), tagged("so odd", "O O")])
    said = Corpus.of(
        [tagged("in Argentina", "O B-LOC"), tagged("Argentina won", "B-LOC O"), tagged("so odd", "O B-PER")]
    )
    report = report_errors(gold, said)
    assert [(found.text, found.gold_elsewhere) for found in report.over_labelled] == [("Argentina", 1), ("odd", 0)]
    assert "labelled where the gold has nothing: 2 (of these strings the gold labels 1 elsewhere)" in report.render()


def test_the_commonest_invention_comes_first():
    said = Corpus.of([tagged("b", "B-PER"), tagged("a", "B-PER"), tagged("b", "B-PER"), tagged("b", "B-LOC")])
    gold = said.with_tags([("O",)] * 4)
    found = report_errors(gold, said).over_labelled
    assert [(each.text, each.label, each.times) for each in found] == [
        ("b", "PER", 2),
        ("a", "PER", 1),
        ("b", "LOC", 1),
    ]


def test_entities_are_counted_by_their_own_length():
    gold, said = corpus_of("B-PER I-PER O B-LOC"), corpus_of("B-PER O O B-LOC")
    tallies = tally_by_entity_length(pair_up(gold, said))
    assert tallies["1"] == Tally(gold=1, predicted=2, correct=1)
    assert tallies["2"] == Tally(gold=1, predicted=0, correct=0)
    assert tallies["5+"] == Tally()
    assert report_errors(gold, said).kinds_by_length["2"]["wrong border"] == 1


def test_the_longest_bucket_has_no_end():
    gold = corpus_of("B-PER " + "I-PER " * 8)
    assert tally_by_entity_length(pair_up(gold, gold))["5+"] == Tally(1, 1, 1)


@given(gold_and_predicted(legal=False))
def test_sums_agree_with_the_scores_and_with_the_list(tags):
    gold, said = (corpus_of(*rows) for rows in tags)
    report = report_errors(gold, said)
    assert sum(report.by_entity_length.values(), Tally()) == score(gold, said).span
    assert report.kinds == count_errors(report.mistakes)
    for kind, times in report.kinds.items():
        assert sum(kinds[kind] for kinds in report.kinds_by_length.values()) == times
    assert sum(report.borders.values()) == report.kinds["wrong border"] + report.kinds["wrong label and border"]
    assert report.times_over_labelled <= report.kinds["spurious"]


def test_nothing_wrong_gives_an_empty_report():
    report = report_errors(corpus_of("B-PER O"), corpus_of("B-PER O"))
    assert not report.mistakes
    assert not report.over_labelled
    assert report.render().startswith("0 mistakes: missed 0")
    assert report_errors(corpus_of(), corpus_of()).as_dict()["mistakes"] == []


def test_a_report_can_be_stored():
    report = report_errors(corpus_of("B-PER I-PER O"), corpus_of("O B-LOC I-LOC")).as_dict()
    assert json.loads(json.dumps(report)) == report
