"""Parts of a long line: every word is decided once, in order, with context on both sides."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.pieces import Window, overlapping, overlapping_rows, windows

costs = st.lists(st.integers(1, 9), min_size=1, max_size=200)


def kept(parts: list[Window]) -> list[int]:
    return [word for part in parts for word in range(part.keep_from, part.keep_to)]


@given(costs, st.integers(1, 60), st.integers(0, 40))
def test_each_word_is_kept_once_and_by_a_part_that_reads_it(counts: list[int], most: int, shared: int) -> None:
    parts = overlapping(counts, most, shared)
    assert kept(parts) == list(range(len(counts)))
    for part in parts:
        assert part.start <= part.keep_from <= part.keep_to <= part.end
        assert sum(counts[part.start : part.end]) <= most or part.end - part.start == 1


@given(st.integers(41, 500))
def test_neighbours_share_as_much_as_they_should(words: int) -> None:
    parts = overlapping([1] * words, 40, 16)
    assert all(part.end - part.start <= 40 for part in parts)
    for left, right in pairwise(parts):
        assert left.end - right.start == 16
        assert left.end - left.keep_to == right.keep_from - right.start == 8


@given(costs, st.integers(1, 40), st.integers(1, 200), st.integers(0, 60))
def test_parts_of_rows_keep_each_word_in_the_row_that_keeps_it_in_the_whole(
    counts: list[int], room: int, most: int, shared: int
) -> None:
    parts = overlapping_rows(counts, room, most, shared)
    assert kept(parts) == list(range(len(counts)))
    whole = {word: (row.start, row.end) for row in windows(counts, room) for word in range(row.keep_from, row.keep_to)}
    for part in parts:
        for row in windows(counts[part.start : part.end], room):
            for word in range(part.start + row.keep_from, part.start + row.keep_to):
                if part.keep_from <= word < part.keep_to:
                    assert (part.start + row.start, part.start + row.end) == whole[word]


def test_the_size_of_a_part_does_not_grow_with_the_line() -> None:
    for words in (3_000, 30_000):
        assert max(part.end - part.start for part in overlapping_rows([1] * words, 126, 2048, 256)) <= 2048
