"""Blocks of text → numbers of words, which are those that `find_words` finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from acclimate.data.selection.word_numbers import NumberedLines, WordNumbers
from acclimate.data.words import find_blank_separated, find_words

WORDS = (
    "the The bank J I U.S No Nos Dr x.J don't 5 5mg p.m 1,000 http://a.b www. bit.ly/ @me #tag :) ;D 8-) n't can é "
    "Ünder ΟΔΟΣ 中文 ツ 👍🏽 1⃣ _ . , ; : ! ? \" ' ) ( [ ] … - – — & / = < > $ % * ~ ^"
)
PARTS = (*WORDS.split(), *"\u00a0\u2003\u200d\x1c\x0b\t\r", *" " * 8)
LINE = st.lists(st.sampled_from(PARTS), max_size=25).map("".join)
LINES = st.lists(LINE, min_size=1, max_size=8)


def split(numbers: WordNumbers, lines: list[str]) -> NumberedLines:
    block = numbers.read("".join(f"{line}\n" for line in lines).encode())
    return numbers.number(block, np.arange(len(block)))


def spelled(lines: list[str], lower_case: bool = True, blanks: bool = False) -> list[list[str]]:
    """The slow way."""
    find = find_blank_separated if blanks else find_words
    words = [[line[start:end] for start, end in find(line)] for line in lines]
    return [[word.lower() for word in line] for line in words] if lower_case else words


@pytest.mark.parametrize("blanks", [False, True])
@pytest.mark.parametrize("lower_case", [False, True])
@settings(max_examples=300)
@given(lines=LINES)
@example(
    lines=[
        "J. Smith J. The J.  Smith",
        "J.",
        "Smith No. 5 No. x Nos. 5 (No. 5 K. L. M.",
        "A J.\u00a0Smith J. \u00a0Smith",
    ]
)
@example(lines=["U.S.A.J. Smith", "U.S.A.J.Smith", "abcdef J. abcdef"])
def test_words_are_those_of_the_word_finder(lower_case: bool, blanks: bool, lines: list[str]) -> None:
    numbers = WordNumbers(lower_case=lower_case, tokenize="blanks" if blanks else "words", most=None)
    expected = spelled(lines, lower_case, blanks)
    for _ in range(2):  # when all is new, and when all is known
        found = split(numbers, lines)
        assert found.lengths.tolist() == [len(words) for words in expected]
        assert found.words.tolist() == numbers.of([word for words in expected for word in words]).tolist()


def test_different_words_have_different_numbers() -> None:
    words = [f"{letter}{number}" for letter in "ab" for number in range(500)]
    numbers = WordNumbers(lower_case=True, tokenize="words", most=None)
    assert sorted(numbers.of(words)) == list(range(1000))
    assert len(numbers.keys()) == 1000


@settings(max_examples=300)
@given(lines=LINES, known=st.lists(st.sampled_from(PARTS), max_size=10))
def test_known_words_are_counted(lines: list[str], known: list[str]) -> None:
    first = WordNumbers(lower_case=True, tokenize="words", most=None)
    split(first, known)
    numbers = WordNumbers(first.keys(), lower_case=True, tokenize="words", most=None)
    for _ in range(2):
        block = numbers.read("".join(f"{line}\n" for line in lines).encode())
        found = numbers.number(block, np.arange(len(block)))
        assert block.known.sum() == (found.words < len(first.keys())).sum()


def test_a_line_without_its_blanks_is_to_be_had_again() -> None:
    numbers = WordNumbers(lower_case=True, tokenize="words", most=None)
    block = numbers.read("\n  one  two \r\n\n\tthré\x0b".encode())
    assert len(block) == 4
    assert block.lines(np.array([1, 3])) == [b"one  two", "thré".encode()]


def test_what_is_remembered_has_a_bound_and_known_words_keep_their_numbers() -> None:
    known = WordNumbers(lower_case=True, tokenize="words", most=None)
    known.of(["the", "bank"])
    numbers = WordNumbers(known.keys(), lower_case=True, tokenize="words", most=100)
    for turn in range(30):
        found = split(numbers, [f"the word{turn}x{place} bank" for place in range(50)])
        assert found.words.reshape(50, 3)[:, [0, 2]].tolist() == [[0, 1]] * 50
        assert len(numbers._chunks) <= 152


def test_a_chunk_may_have_very_many_words() -> None:
    numbers = WordNumbers(lower_case=True, tokenize="words", most=None)
    for _ in range(2):
        assert split(numbers, ["中" * 5000]).lengths.tolist() == [5000]
