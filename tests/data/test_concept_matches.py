"""A dictionary has the same matches as looking everywhere for everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.concepts.dictionary import ConceptDictionary
from acclimate.data.concepts.files import Concept
from acclimate.data.concepts.labelling import Groups

WORDS = st.sampled_from("abc")
ROWS = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(tuple), min_size=1, max_size=12)
TEXT = st.lists(st.sampled_from("abcx"), max_size=30)
Match = tuple[int, int, str]


def matches(rows: list[tuple[str, ...]], text: list[str]) -> list[Match]:
    concepts = [Concept(" ".join(row)) for row in rows]
    dictionary = ConceptDictionary([concepts], Groups(single="X"), case="lower", shortest=1)
    return [(mention.start, mention.end, mention.name) for mention in dictionary.find(text)]


def everywhere(rows: list[tuple[str, ...]], text: list[str]) -> set[Match]:
    return {
        (start, start + len(row), " ".join(row))
        for row in rows
        for start in range(len(text))
        if tuple(text[start : start + len(row)]) == row
    }


@given(ROWS, TEXT)
def test_every_row_is_found_wherever_it_stands_and_once(rows: list[tuple[str, ...]], text: list[str]) -> None:
    found = matches(rows, text)
    assert len(found) == len(set(found))
    assert set(found) == everywhere(rows, text)


def test_a_row_within_a_row_is_found_too() -> None:
    found = matches([("a", "b", "c"), ("b", "c"), ("c",), ("b", "x")], list("abcbx"))
    assert found == [(0, 3, "a b c"), (1, 3, "b c"), (2, 3, "c"), (3, 5, "b x")]


def test_a_long_repeat_is_no_match_before_its_last_word() -> None:
    row = ("a",) * 40 + ("b",)
    assert matches([row], ["a"] * 5000) == []
    assert len(matches([row], ["a"] * 5000 + ["b"])) == 1
