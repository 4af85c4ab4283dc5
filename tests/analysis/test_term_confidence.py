"""How sure taggers are of each term, side by side."""

from __future__ import annotations

import json

import pytest

from acclimate.analysis.terms import compare_term_confidences
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import Span
from acclimate.inference.predict import TermGuess

GOLD = Corpus.of(
    [
        Sentence(("p53", "binds", "heat", "shock")).with_spans([Span(0, 1, "GENE"), Span(2, 4, "STRESS")]),
        Sentence(("p53",)).with_spans([Span(0, 1, "GENE")]),
    ],
    "genes",
)
SPANS = [(number, span) for number, sentence in enumerate(GOLD) for span in sentence.spans]


def guesses(*told: tuple[str, float]) -> list[TermGuess]:
    return [TermGuess(*place, *guess) for place, guess in zip(SPANS, told, strict=True)]


PLAIN = guesses(("GENE", 0.5), ("O", 0.8), ("O", 0.9))
BETTER = guesses(("GENE", 0.9), ("STRESS", 0.7), ("GENE", 1.0))


def test_terms_are_averaged_over_their_mentions_the_most_frequent_first() -> None:
    found = compare_term_confidences(GOLD, {"plain": PLAIN, "better": BETTER})
    assert [(row.term, row.label, row.mentions) for row in found.terms] == [
        ("p53", "GENE", 2),
        ("heat shock", "STRESS", 1),
    ]
    assert [seen.confidence for seen in found.terms[0].taggers] == pytest.approx([0.7, 0.95])
    assert [seen.right for seen in found.terms[0].taggers] == [0.5, 1.0]


def test_a_tagger_that_is_sure_of_the_wrong_thing_is_seen_through() -> None:
    plain, better = compare_term_confidences(GOLD, {"plain": PLAIN, "better": BETTER}).taggers
    assert (plain.confidence_if_right, plain.confidence_if_wrong) == (0.5, pytest.approx(0.85))
    assert (plain.right, better.right, better.confidence_if_wrong) == (pytest.approx(1 / 3), 1.0, None)


def test_only_so_many_terms_are_shown_but_all_count() -> None:
    found = compare_term_confidences(GOLD, {"plain": PLAIN}, most=1)
    assert (len(found.terms), found.mentions, found.different_terms) == (1, 3, 2)


def test_a_term_with_two_labels_is_two() -> None:
    twice = Corpus.of([Sentence(("a", "a")).with_spans([Span(0, 1, "X"), Span(1, 2, "Y")])])
    told = [TermGuess(0, span, "X", 0.5) for span in twice[0].spans]
    assert [row.label for row in compare_term_confidences(twice, {"a": told}).terms] == ["X", "Y"]


@pytest.mark.parametrize("found", [{}, {"plain": []}])
def test_without_terms_or_taggers_there_is_nothing_to_tell(found: dict[str, list[TermGuess]]) -> None:
    with pytest.raises(InputError, match="nothing to be sure of"):
        compare_term_confidences(GOLD, found)


def test_it_is_told_in_json_rows_and_words() -> None:
    found = compare_term_confidences(GOLD, {"plain": PLAIN, "better": BETTER})
    assert json.loads(json.dumps(found.as_dict()))["taggers"][0]["name"] == "plain"
    assert len(found.as_rows()) == 4
    assert "heat shock (STRESS)" in found.render()
