"""Aho-Corasick over words: the same matches as looking everywhere for everything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.concepts.dictionary import UNKNOWN, Automaton

WORDS = st.sampled_from("abc")
ROWS = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(tuple), max_size=12)
TEXT = st.lists(st.sampled_from("abcx"), max_size=30)


def built(rows: list[tuple[str, ...]]) -> tuple[Automaton, dict[int, tuple[str, ...]]]:
    automaton = Automaton()
    nodes = {automaton.add(row): row for row in rows}
    automaton.close()
    return automaton, nodes


def everywhere(rows: list[tuple[str, ...]], text: list[str]) -> set[tuple[int, int, tuple[str, ...]]]:
    return {
        (start, start + len(row), row)
        for row in rows
        for start in range(len(text))
        if tuple(text[start : start + len(row)]) == row
    }


@given(ROWS, TEXT)
def test_every_row_is_found_wherever_it_stands_and_once(rows: list[tuple[str, ...]], text: list[str]) -> None:
    automaton, nodes = built(rows)
    found = [(start, end, nodes[node]) for start, end, node in automaton.matches(automaton.numbers(text))]
    assert len(found) == len(set(found))
    assert set(found) == everywhere(rows, text)


def test_a_row_within_a_row_is_found_by_its_suffix() -> None:
    automaton, nodes = built([("a", "b", "c"), ("b", "c"), ("c",), ("b", "x")])
    found = [(start, end, nodes[node]) for start, end, node in automaton.matches(automaton.numbers(list("abcbx")))]
    assert found == [(0, 3, ("a", "b", "c")), (1, 3, ("b", "c")), (2, 3, ("c",)), (3, 5, ("b", "x"))]


def test_a_word_that_no_row_has_breaks_every_match() -> None:
    automaton, _ = built([("a", "b")])
    assert automaton.numbers(["a", "z", "b"]) == (0, UNKNOWN, 1)
    assert list(automaton.matches([0, UNKNOWN, 1])) == []


def test_long_repeats_cost_no_more_than_the_text_is_long() -> None:
    automaton, _ = built([("a",) * 40 + ("b",)])
    assert list(automaton.matches(automaton.numbers(["a"] * 5000))) == []
    assert len(list(automaton.matches(automaton.numbers(["a"] * 5000 + ["b"])))) == 1


def test_nothing_matches_without_rows_or_words_and_an_empty_row_is_refused() -> None:
    automaton, _ = built([])
    assert list(automaton.matches(automaton.numbers(["a"]))) == []
    assert list(built([("a",)])[0].matches([])) == []
    with pytest.raises(ValueError, match="empty row"):
        Automaton().add([])
