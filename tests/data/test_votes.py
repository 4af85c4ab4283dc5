"""Answers of several taggers as one corpus: what all agree on, what most say, and the mean."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import Span
from acclimate.data.soft_labels import rows_in_scheme, softened
from acclimate.data.votes import agreed, averaged, open_share, voted

WORDS = ("Anna", "Bell", "flew", "to", "New", "York")


def answer(*spans: tuple[int, int, str]) -> Corpus:
    return Corpus.of([Sentence(WORDS).with_tags(["O"] * 6).with_spans([Span(*span) for span in spans])])


def tags(corpus: Corpus) -> tuple[str, ...]:
    (sentence,) = corpus
    assert sentence.tags is not None
    return sentence.tags


ANNA, NEW_YORK, YORK = (0, 2, "PER"), (4, 6, "LOC"), (5, 6, "LOC")


def test_what_all_found_is_a_span_and_what_none_found_is_o() -> None:
    assert tags(agreed([answer(ANNA), answer(ANNA)])) == ("B-PER", "I-PER", "O", "O", "O", "O")


def test_a_word_on_which_members_differ_may_be_anything() -> None:
    found = agreed([answer(ANNA, NEW_YORK), answer(ANNA, YORK), answer(ANNA)])
    assert tags(found) == ("B-PER", "I-PER", "O", "O", "O|*", "O|*")
    assert open_share(found) == pytest.approx(2 / 6)


def test_another_type_is_a_difference() -> None:
    assert tags(agreed([answer(ANNA), answer((0, 2, "ORG"))]))[:2] == ("O|*", "O|*")


def test_one_member_is_believed_in_all() -> None:
    one = answer(ANNA, NEW_YORK)
    assert tags(agreed([one])) == tags(voted([one])) == tags(one)


def test_most_members_decide_and_half_of_them_do_not() -> None:
    assert tags(voted([answer(ANNA, YORK), answer(ANNA, NEW_YORK), answer(NEW_YORK)])) == tags(answer(ANNA, NEW_YORK))
    assert tags(voted([answer(ANNA), answer(YORK)])) == ("O",) * 6


def test_plain_tags_are_never_open() -> None:
    rows = [("N", "N"), ("N", "V"), ("V", "V")]
    answers = [Corpus.of([Sentence(("a", "b"), row)], kind="plain") for row in rows]
    assert tags(agreed(answers)) == tags(voted(answers)) == ("N", "V")


def test_the_mean_of_probabilities_is_coherent_and_each_member_counts_alike() -> None:
    one = Sentence(("Anna", "Bell"), ("O", "O"))
    rows = [[{"B-PER": 0.9, "O": 0.1}, {"I-PER": 0.9, "O": 0.1}], [{"B-PER": 0.5, "O": 0.5}, {"O": 1.0}]]
    found = averaged([Corpus.of([softened(one, row)]) for row in rows])
    (sentence,) = found
    first, second = rows_in_scheme(sentence, "BIOES")  # refuses what is not coherent
    assert first == pytest.approx({"B-PER": 0.45, "S-PER": 0.25, "O": 0.3})
    assert second == pytest.approx({"E-PER": 0.45, "O": 0.55})


spans = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from(["PER", "LOC"])), max_size=4)


def apart(drawn: list[tuple[int, int, str]]) -> list[Span]:
    """Those of the drawn spans that fit and overlap no earlier one."""
    kept: list[Span] = []
    for start, length, label in drawn:
        span = Span(start, min(6, start + length), label)
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return sorted(kept)


@given(st.lists(spans, min_size=1, max_size=5))
def test_votes_are_those_of_a_count_by_hand(drawn: list[list[tuple[int, int, str]]]) -> None:
    found = [apart(each) for each in drawn]
    answers = [Corpus.of([Sentence(WORDS).with_tags(["O"] * 6).with_spans(each)]) for each in found]
    votes = Counter(span for each in found for span in each)
    assert voted(answers)[0].spans == sorted(span for span, number in votes.items() if number > len(found) / 2)
    everybody = agreed(answers)[0]
    assert everybody.spans == sorted(span for span, number in votes.items() if number == len(found))
    disputed = {word for span, n in votes.items() if n < len(found) for word in range(span.start, span.end)}
    assert {word for word, tag in enumerate(everybody.tags or ()) if tag == "O|*"} == disputed
