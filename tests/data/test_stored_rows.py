"""Rows on disk: nothing is lost, the order is one of the seed and the place alone, and shares are kept."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from acclimate.data.corpus import Sentence
from acclimate.data.running_text import MixedRows, Shuffled, StoredRows


def rows_of(name: str, size: int, window: int = 8) -> StoredRows:
    return StoredRows(((name, str(number)) for number in range(size)), window)


def test_words_come_back_as_they_were_and_a_word_with_a_line_end_stays_one_word() -> None:
    rows = [("Anna", "", "d\ud800"), ("a\tb", "c\nd"), ("",)]
    stored = StoredRows(rows)
    found = {one.words for one in Shuffled(stored, 1).at(0, 3)}
    assert found == {rows[0], ("a b", "c d"), ("",)}


@pytest.mark.parametrize("size", [1, 7, 8, 9, 50])
def test_every_pass_has_every_row_once_in_another_order(size: int) -> None:
    shuffled = Shuffled(rows_of("row", size), seed=3)
    passes = [[one.words for one in shuffled.at(which * size, (which + 1) * size)] for which in range(3)]
    assert all(sorted(found) == sorted(("row", str(number)) for number in range(size)) for found in passes)
    if size > 8:
        assert all(one != other for one, other in pairwise(passes))


def test_a_row_depends_on_its_place_and_not_on_what_was_read_before() -> None:
    """The oracle reads each place with an order of its own."""
    rows = rows_of("row", 50)
    shuffled = Shuffled(rows, seed=3)
    for first, last in ((120, 131), (3, 70), (0, 1)):
        alone = [Shuffled(rows, seed=3).at(place, place + 1)[0] for place in range(first, last)]
        assert shuffled.at(first, last) == alone


def test_a_pass_of_a_mixture_has_so_many_rows_of_each_text() -> None:
    texts = [(rows_of("source", 5), 20), (rows_of("target", 20), 20), (rows_of("more", 30), 30)]
    mixed = MixedRows([(Shuffled(rows, 1), size) for rows, size in texts], rows_per_batch=7)
    found = [row for number in range(mixed.epoch_length) for row in mixed.batch(number)["target"]]
    counts = Counter(row.words for row in found)
    assert {words[0]: sum(n for other, n in counts.items() if other[0] == words[0]) for words in counts} == {
        "source": 20,
        "target": 20,
        "more": 30,
    }
    assert set(counts.values()) == {1, 4}
    assert all(5 <= len(mixed.batch(number)["target"]) <= 7 for number in range(40))


def test_a_batch_is_never_empty() -> None:
    mixed = MixedRows([(Shuffled(rows_of(name, 9), 1), 9) for name in "abc"], rows_per_batch=1)
    assert all(isinstance(mixed.batch(number)["target"][0], Sentence) for number in range(50))


def test_a_window_and_no_more_is_in_memory() -> None:
    shuffled = Shuffled(rows_of("row", 100), seed=3)
    shuffled.at(0, 300)
    assert [len(lines) for lines in shuffled._open.values()] <= [8]
