"""PMI: collocations hidden whole, at random or in the paper's order, the budget spent exactly."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.collocations import Collocation, Collocations
from acclimate.methods.masking.mutual_information import draw_collocations

SENTENCES = st.lists(st.sampled_from("abc"), max_size=14).flatmap(
    lambda words: st.tuples(st.just(words), st.integers(0, len(words)))
)
VOCABULARIES = st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=4).map(" ".join), unique=True, max_size=6)
SEEDS = st.integers(0, 10_000)
BOTH_WAYS = pytest.mark.parametrize("ranked", [False, True])


def vocabulary(*rows: str) -> Collocations:
    return Collocations(tuple(Collocation(tuple(row.split()), 5, 1.0) for row in rows))


def drawn(text: str, known: Collocations, budget: int, seed: int = 0, ranked: bool = False) -> list[int]:
    return draw_collocations(text.split(), known, budget, np.random.default_rng(seed), ranked)


@BOTH_WAYS
@given(sentence=SENTENCES, rows=VOCABULARIES, seed=SEEDS)
def test_the_budget_is_spent_exactly_and_no_word_twice(
    ranked: bool, sentence: tuple[list[str], int], rows: list[str], seed: int
) -> None:
    words, budget = sentence
    chosen = draw_collocations(words, vocabulary(*rows), budget, np.random.default_rng(seed), ranked)
    assert len(chosen) == len(set(chosen)) == budget
    assert set(chosen) <= set(range(len(words)))


@given(sentence=SENTENCES, rows=VOCABULARIES, seed=SEEDS)
def test_what_is_drawn_are_whole_collocations_and_single_words_but_for_the_last(
    sentence: tuple[list[str], int], rows: list[str], seed: int
) -> None:
    """Without a budget the units stand one after the other; with one, their beginning does."""
    words, budget = sentence
    everything, chosen = (
        draw_collocations(words, vocabulary(*rows), amount, np.random.default_rng(seed))
        for amount in (len(words), budget)
    )
    assert chosen == everything[:budget]
    for start, end in slow_units(words, rows):
        place = everything.index(start)
        assert everything[place : place + end - start] == list(range(start, end))


def slow_units(words: list[str], rows: list[str]) -> list[tuple[int, int]]:
    """Lengths from the longest, ranks from the best, places from the left: whatever is still free is a unit."""
    free, units = [True] * len(words), []
    for length in (4, 3, 2, 1):
        known = (
            [row.split() for row in rows if len(row.split()) == length] if length > 1 else [[word] for word in "abc"]
        )
        for unit in known:
            for start in range(len(words) - length + 1):
                if words[start : start + length] == unit and all(free[start : start + length]):
                    free[start : start + length] = [False] * length
                    units.append((start, start + length))
    return units


@given(sentence=SENTENCES, rows=VOCABULARIES, seed=SEEDS)
def test_in_the_paper_s_order_it_is_one_pass_over_the_ranked_vocabulary(
    sentence: tuple[list[str], int], rows: list[str], seed: int
) -> None:
    words, budget = sentence
    expected: list[int] = []
    for row in rows:
        length = len(row.split())
        for start in range(len(words) - length + 1):
            run = range(start, start + length)
            if words[start : start + length] == row.split() and not set(run) & set(expected):
                expected += run
    chosen = draw_collocations(words, vocabulary(*rows), budget, np.random.default_rng(seed), ranked=True)
    assert chosen[: len(expected)] == expected[:budget]


CITY = "she left new york city for old york"
KNOWN = vocabulary("old york", "new york", "new york city")


def test_a_collocation_inside_a_larger_one_is_no_unit() -> None:
    for seed in range(50):
        order = drawn(CITY, KNOWN, 8, seed)
        assert order[order.index(2) : order.index(2) + 3] == [2, 3, 4]


def test_every_unit_has_the_same_chance() -> None:
    """she | left | new york city | for | old york."""
    dice = np.random.default_rng(0)
    first = Counter(draw_collocations(CITY.split(), KNOWN, 1, dice)[0] for _ in range(5_000))
    assert set(first) == {0, 1, 2, 5, 6}
    assert [count / 5_000 for count in first.values()] == pytest.approx([0.2] * 5, abs=0.03)


def test_in_the_paper_s_order_the_best_ranked_come_first_and_single_words_last() -> None:
    assert {tuple(drawn(CITY, KNOWN, 4, seed, ranked=True)) for seed in range(20)} == {(6, 7, 2, 3)}
    rest = {tuple(drawn(CITY, KNOWN, 5, seed, ranked=True))[4] for seed in range(99)}
    assert rest == {0, 1, 4, 5}  # "city" is free: "new york" ranks above "new york city" here


def test_a_collocation_is_cut_where_the_budget_ends() -> None:
    assert drawn(CITY, KNOWN, 3, ranked=True) == [6, 7, 2]


def test_a_repeated_collocation_is_hidden_from_left_to_right() -> None:
    assert drawn("a b c a b", vocabulary("a b"), 4, ranked=True) == [0, 1, 3, 4]


def test_a_collocation_never_shares_a_word_with_another() -> None:
    assert drawn("a a a a a", vocabulary("a a"), 4, ranked=True) == [0, 1, 2, 3]
    assert drawn("by the way out", vocabulary("the way out", "by the way"), 3, ranked=True) == [1, 2, 3]


@BOTH_WAYS
def test_without_collocations_single_words_are_drawn(ranked: bool) -> None:
    dice = np.random.default_rng(0)
    counts = Counter(draw_collocations(list("abcd"), Collocations(()), 1, dice, ranked)[0] for _ in range(2_000))
    assert [counts[word] / 2_000 for word in range(4)] == pytest.approx([0.25] * 4, abs=0.04)


@BOTH_WAYS
def test_everything_nothing_and_a_single_word_can_be_hidden(ranked: bool) -> None:
    assert sorted(drawn(CITY, KNOWN, 8, ranked=ranked)) == list(range(8))
    assert drawn(CITY, KNOWN, 0, ranked=ranked) == drawn("", KNOWN, 0, ranked=ranked) == []
    assert drawn("york", KNOWN, 1, ranked=ranked) == [0]


@BOTH_WAYS
def test_a_seed_gives_the_same_words_again(ranked: bool) -> None:
    assert all(drawn(CITY, KNOWN, 6, seed, ranked) == drawn(CITY, KNOWN, 6, seed, ranked) for seed in range(20))


def test_other_seeds_hide_other_words() -> None:
    assert len({tuple(sorted(drawn(CITY, KNOWN, 4, seed))) for seed in range(50)}) > 5


@BOTH_WAYS
def test_a_budget_beyond_the_sentence_is_refused(ranked: bool) -> None:
    with pytest.raises(ValueError, match="Of 1 words, 2 cannot be hidden"):
        drawn("york", KNOWN, 2, ranked=ranked)
