"""Numbers for words and characters."""

from __future__ import annotations

from collections import Counter

from acclimate.data.words import HIDDEN, PADDING, SPECIAL, UNKNOWN, Vocabulary


def test_items_are_numbered_after_the_special_ones() -> None:
    vocabulary = Vocabulary(["b", "a"])
    assert [vocabulary.number(item) for item in ("b", "a")] == [3, 4]
    assert {PADDING, UNKNOWN, HIDDEN} == {0, 1, 2}
    assert len(vocabulary) == len(SPECIAL) + 2


def test_what_is_not_listed_is_unknown_and_so_is_a_word_that_looks_special() -> None:
    vocabulary = Vocabulary(["a"])
    assert vocabulary.number("z") == vocabulary.number("<padding>") == UNKNOWN
    assert "a" in vocabulary
    assert "<padding>" not in vocabulary


def test_a_repeated_item_keeps_its_first_number() -> None:
    assert Vocabulary(["a", "b", "a"]).items == ("a", "b")


def test_frequent_items_come_first_and_ties_go_by_spelling() -> None:
    counts = Counter({"rare": 1, "b": 2, "a": 2, "often": 9})
    assert Vocabulary.of_counts(counts).items == ("often", "a", "b", "rare")
    assert Vocabulary.of_counts(counts, at_least=2).items == ("often", "a", "b")


def test_the_order_of_counting_does_not_matter() -> None:
    assert Vocabulary.of_counts(Counter("abcab")).items == Vocabulary.of_counts(Counter("bacba")).items
