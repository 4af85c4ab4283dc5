"""Which sentences of one corpus stand in another: by letters and digits, short ones apart."""

from __future__ import annotations

import pytest

from acclimate.data.corpus import Corpus, Sentence
from acclimate.evaluation.seen import Shared, texts_in, texts_of

LONG = [f"number {number} is quite a long sentence" for number in range(6)]
SHORT = [f"number {number}" for number in range(4)]


def corpus(*texts: str) -> Corpus:
    return Corpus.of(Sentence(tuple(text.split())) for text in texts)


def shared(test: Corpus, other: Corpus) -> Shared:
    return Shared.count(test, texts_in(other, texts_of(test)))


@pytest.mark.parametrize(
    ("test", "other", "found"),
    [
        (LONG, LONG[:2], Shared(2, 6)),
        (LONG, [text.upper() + " !" for text in LONG], Shared(6, 6)),
        ([*LONG, *SHORT], SHORT, Shared(0, 6, 6)),  # headings repeat without harm
        ([*LONG[:2], *SHORT], SHORT, Shared(4, 6)),  # but here they are the test
        (LONG[:1] * 3, LONG[:1], Shared(3, 3)),
        (LONG, [], Shared(0, 6)),
        ([], LONG, Shared(0, 0)),
    ],
)
def test_real_sentences_are_counted_and_short_ones_where_they_are_the_most(
    test: list[str], other: list[str], found: Shared
) -> None:
    assert shared(corpus(*test), corpus(*other)) == found


def test_what_is_shared_is_told_with_what_was_counted() -> None:
    assert Shared(3, 40).describe("target test") == "3 of 40 target test sentences"
    assert Shared(3, 1040, 6).describe("source test") == "3 of 1,040 source test sentences of 6 or more words"
    assert Shared.from_dict(Shared(3, 40, 6).as_dict()) == Shared(3, 40, 6)


@pytest.mark.parametrize(("count", "noteworthy", "most"), [(0, False, False), (1, False, False), (2, True, False)])
def test_as_much_is_borne_as_the_data_check_bears(count: int, noteworthy: bool, most: bool) -> None:
    assert (Shared(count, 100).is_noteworthy, Shared(count, 100).is_most) == (noteworthy, most)


def test_an_empty_test_shares_nothing() -> None:
    assert not Shared(0, 0).is_noteworthy
    assert not Shared(0, 0).is_most
