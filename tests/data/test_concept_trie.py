"""A trie over words: the same matches as looking everywhere for everything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.concepts.dictionary import UNKNOWN, Trie

WORDS = st.sampled_from("abc")
ROWS = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(tuple), max_size=12)
TEXT = st.lists(st.sampled_from("abcx"), max_size=30)


def built(rows: list[tuple[str, ...]]) -> tuple[Trie, dict[int, tuple[str, ...]]]:
    trie = Trie()
    nodes = {trie.add(row): row for row in rows}
    return trie, nodes


def everywhere(rows: list[tuple[str, ...]], text: list[str]) -> set[tuple[int, int, tuple[str, ...]]]:
    return {
        (start, start + len(row), row)
        for row in rows
        for start in range(len(text))
        if tuple(text[start : start + len(row)]) == row
    }


@given(ROWS, TEXT)
def test_every_row_is_found_wherever_it_stands_and_once(rows: list[tuple[str, ...]], text: list[str]) -> None:
    trie, nodes = built(rows)
    found = [(start, end, nodes[node]) for start, end, node in trie.matches(trie.numbers(text))]
    assert len(found) == len(set(found))
    assert set(found) == everywhere(rows, text)


def test_a_row_within_a_row_is_found_too() -> None:
    trie, nodes = built([("a", "b", "c"), ("b", "c"), ("c",), ("b", "x")])
    found = [(start, end, nodes[node]) for start, end, node in trie.matches(trie.numbers(list("abcbx")))]
    assert found == [(0, 3, ("a", "b", "c")), (1, 3, ("b", "c")), (2, 3, ("c",)), (3, 5, ("b", "x"))]


def test_a_word_that_no_row_has_breaks_every_match() -> None:
    trie, _ = built([("a", "b")])
    assert trie.numbers(["a", "z", "b"]) == (0, UNKNOWN, 1)
    assert list(trie.matches([0, UNKNOWN, 1])) == []


def test_a_long_repeat_is_no_match_before_its_last_word() -> None:
    trie, _ = built([("a",) * 40 + ("b",)])
    assert list(trie.matches(trie.numbers(["a"] * 5000))) == []
    assert len(list(trie.matches(trie.numbers(["a"] * 5000 + ["b"])))) == 1


def test_nothing_matches_without_rows_or_words_and_an_empty_row_is_refused() -> None:
    trie, _ = built([])
    assert list(trie.matches(trie.numbers(["a"]))) == []
    assert list(built([("a",)])[0].matches([])) == []
    with pytest.raises(ValueError, match="empty row"):
        Trie().add([])
