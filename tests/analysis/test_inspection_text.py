"""What meets the eye, and pieces of words: every figure counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from acclimate.analysis.inspection.facts import piece_shares, surface_shares, within
from acclimate.analysis.text_comparison import sampled
from acclimate.data.corpus import Corpus, Sentence


def corpus(*rows: str, name: str = "text") -> Corpus:
    return Corpus.of((Sentence(tuple(row.split())) for row in rows), name)


POSTS = corpus(
    "see https://a.b 😀",
    "WHAT A DAY !",
    "@anna says hi :) #fun",
    'He said : " Go . "',
    "no 3rd naïve www.x.org",
)


def test_shares_of_sentences_and_words_are_counted() -> None:
    words = 3 + 4 + 5 + 7 + 4
    assert surface_shares(POSTS) == {
        "sentences: begin with a capital": pytest.approx(2 / 5),
        "sentences: all in lower case": pytest.approx(3 / 5),
        "sentences: all in capitals": pytest.approx(1 / 5),
        "sentences: end with . ! or ?": pytest.approx(2 / 5),  # a closing quotation mark is passed over
        "sentences: with a link": pytest.approx(2 / 5),
        "sentences: with a user name": pytest.approx(1 / 5),
        "sentences: with a hashtag": pytest.approx(1 / 5),
        "sentences: with an emoji or emoticon": pytest.approx(2 / 5),
        "words: with a capital letter first": pytest.approx(5 / words),  # WHAT A DAY He Go
        "words: in capitals": pytest.approx(2 / words),  # a single letter is none
        "words: with a digit": pytest.approx(1 / words),
        "words: other letters than A to Z": pytest.approx(1 / words),
    }


def test_pieces_are_counted_over_running_words() -> None:
    def letters(words: Sequence[str]) -> list[list[int]]:
        """A piece per letter; x stands for what is unknown."""
        return [[0 if letter == "x" else ord(letter) for letter in word] for word in words]

    assert piece_shares(corpus("a bb a").vocabulary, letters, unknown=0) == (pytest.approx(4 / 3), 0)
    target = corpus("a ccc x ccc d").vocabulary
    assert piece_shares(target, letters, unknown=0) == (pytest.approx(9 / 5), pytest.approx(1 / 5))


def test_a_sample_is_random_repeatable_and_never_more_than_there_is() -> None:
    text = corpus(*(f"w{number}" for number in range(50)))
    one = sampled(text, 20, seed=1)
    assert len({sentence.words for sentence in one}) == 20
    assert one == sampled(text, 20, seed=1)
    assert one != sampled(text, 20, seed=2)
    assert len(sampled(text, 1000)) == 50


def test_within_so_many_words_there_is_at_least_one_sentence() -> None:
    text = corpus("a b", "c d", "e f")
    assert len(within(text, 4)) == 2
    assert len(within(text, 100)) == 3
    assert len(within(text, 1)) == 1
