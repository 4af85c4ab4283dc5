"""What meets the eye, and the words: every figure counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from acclimate.analysis.inspection.inspection import surface_table
from acclimate.analysis.inspection.measures import (
    Surface,
    compare_pieces,
    compare_words,
    unseen_counts,
    within,
)
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


def test_shares_of_sentences_are_counted() -> None:
    found = Surface.of(POSTS).of_sentences
    assert found == {
        "begin with a capital": pytest.approx(2 / 5),
        "all in lower case": pytest.approx(3 / 5),
        "all in capitals": pytest.approx(1 / 5),
        "end with . ! or ?": pytest.approx(2 / 5),  # a closing quotation mark is passed over
        "with a link": pytest.approx(2 / 5),
        "with a user name": pytest.approx(1 / 5),
        "with a hashtag": pytest.approx(1 / 5),
        "with an emoji or emoticon": pytest.approx(2 / 5),
    }


def test_shares_of_words_are_counted() -> None:
    found, words = Surface.of(POSTS), 3 + 4 + 5 + 7 + 4
    assert found.words == words
    assert found.of_words == {
        "with a capital letter first": pytest.approx(5 / words),  # WHAT A DAY He Go
        "in capitals": pytest.approx(2 / words),  # a single letter is none
        "with a digit": pytest.approx(1 / words),
        "other letters than A to Z": pytest.approx(1 / words),
    }


def test_lengths_are_of_the_sample_and_sizes_of_all() -> None:
    whole = corpus(*["a"] * 9, "a b c d e f g h i j k")
    found = Surface.of(whole, whole[:9])
    assert (found.sentences, found.words, found.mean_length, found.long_length) == (10, 20, 1.0, 1)
    assert Surface.of(whole).mean_length == 2.0
    assert Surface.of(whole[9:]).long_length == 11


def test_only_what_differs_is_shown() -> None:
    same = Surface.of(POSTS)
    assert [row.split()[0] for row in surface_table(same, same)] == ["source", "sentences", "words"]
    shown = "\n".join(surface_table(same, Surface.of(corpus("Plain words end here ."))))
    assert "with a link" in shown
    assert "words per sentence" not in shown  # 4.6 and 5: no quarter more


def test_unseen_words_are_those_of_the_whole_source() -> None:
    source = corpus("the cat sat", "The Dog sat", "the mouse ran")
    target = corpus("THE bird sat", "a bird ran", "a bird flew")
    found = compare_words(source, (source[:1], target), least_sentences=1)
    # the sat ran are known, with or without capitals; bird (3), a (2) and flew (1) are not
    assert found.unseen_words == pytest.approx(6 / 9)
    assert found.unseen_types == pytest.approx(3 / 6)
    assert unseen_counts(source, target) == {"bird": 3, "a": 2, "flew": 1}


def test_overlap_distance_and_typical_words_are_those_of_the_samples() -> None:
    one, other = corpus("cat dog", "cat cow"), corpus("cat bird", "bird fish")
    found = compare_words(one, (one, other), least_sentences=1)
    assert found.overlap == pytest.approx(100 * 1 / 5)
    # cat: 1 - (2/4) / (1/4) is below 0; bird and fish are the target's alone: 3 of 4 running words
    assert found.distance == pytest.approx(3 / 4)
    assert [item.word for item in found.typical] == ["bird", "fish", "cat"]


def test_pieces_are_counted_over_running_words() -> None:
    def letters(words: Sequence[str]) -> list[list[int]]:
        """A piece per letter; x stands for what is unknown."""
        return [[0 if letter == "x" else ord(letter) for letter in word] for word in words]

    source, target = corpus("a bb a"), corpus("a ccc x ccc d")
    found = compare_pieces((source, target), letters, unknown=0)
    assert found.source == pytest.approx(4 / 3)
    assert found.target == pytest.approx(9 / 5)
    assert (found.source_unknown, found.target_unknown) == (0, pytest.approx(1 / 5))


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
