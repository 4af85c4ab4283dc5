"""Agreement of found spans with true ones, tallied sentence by sentence."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import Span
from acclimate.evaluation.agreement import Agreement, tally_overlap
from acclimate.evaluation.counts import Tally
from acclimate.evaluation.scores import score

TAGS = st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), min_size=6, max_size=6)


@given(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=4))
def test_exact_tallies_are_those_of_the_scorer(pairs: list[tuple[list[str], list[str]]]) -> None:
    gold, found = (Corpus.of(Sentence(tuple("abcdef")).with_tags(pair[side]) for pair in pairs) for side in (0, 1))
    agreement = Agreement()
    for right, guess in zip(gold, found, strict=True):
        agreement.add(right, guess)
    scores = score(gold, found)
    assert agreement.exact == scores.span
    assert agreement.exact_typeless == scores.typeless
    assert dict(agreement.exact_by_label) == dict(scores.by_label)
    assert agreement.overlap.correct >= agreement.exact.correct
    assert agreement.overlap_typeless.correct >= agreement.exact_typeless.correct


def test_by_overlap_each_span_has_one_partner() -> None:
    gold, found = [Span(0, 5, "A")], [Span(0, 2, "A"), Span(3, 4, "A")]
    assert tally_overlap(gold, found) == Tally(1, 2, 1)
    assert tally_overlap(found, gold) == Tally(2, 1, 1)
    assert tally_overlap([Span(0, 1, "A")], [Span(1, 2, "A")]) == Tally(1, 1, 0)


def test_an_overlap_under_another_label_counts_only_without_labels() -> None:
    agreement = Agreement()
    words = Sentence(("a", "b"))
    agreement.add(words.with_spans([Span(0, 2, "A")]), words.with_spans([Span(0, 1, "B")]))
    assert (agreement.overlap, agreement.overlap_typeless) == (Tally(1, 1, 0), Tally(1, 1, 1))
    assert agreement.strangers == (["A"], ["B"])


def test_the_table_and_the_dictionary_say_the_same(make_corpus: Callable[..., Corpus]) -> None:
    agreement = Agreement()
    for sentence in make_corpus(5):
        agreement.add(sentence, sentence)
    assert agreement.as_dict()["exact"]["f1"] == 1
    assert agreement.render().count("100.00") == 3 * (4 + 2 * len(agreement.exact_by_label))
    assert agreement.as_dict()["sentences"] == 5


def test_nothing_at_all_is_zero_and_not_an_error() -> None:
    agreement = Agreement()
    agreement.add(Sentence(("a",), ("O",)), Sentence(("a",), ("O",)))
    assert (agreement.exact.f1, agreement.overlap.f1, agreement.strangers) == (0, 0, ([], []))
    assert "exact spans" in agreement.render()
