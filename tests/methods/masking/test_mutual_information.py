"""PMI: collocations hidden whole, at random or in the paper's order, the budget spent exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.collocations import Collocation, Collocations
from acclimate.methods.masking.word_runs import draw_units, fitting_first

SENTENCES = st.lists(st.sampled_from("abc"), max_size=14).flatmap(
    lambda words: st.tuples(st.just(words), st.integers(0, len(words)))
)
VOCABULARIES = st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=4).map(" ".join), unique=True, max_size=6)
SEEDS = st.integers(0, 10_000)
BOTH_WAYS = pytest.mark.parametrize("ranked", [False, True])


def vocabulary(*rows: str) -> Collocations:
    return Collocations(tuple(Collocation(tuple(row.split()), 5, 1.0) for row in rows))


def draw_collocations(
    words: list[str],
    known: Collocations,
    budget: int,
    dice: np.random.Generator,
    ranked: bool = False,
    whole: bool = False,
) -> list[int]:
    """The units as the policy puts them in order, cut off where the budget ends."""
    units = draw_units(words, known, dice, ranked)
    return list(chain.from_iterable(fitting_first(units, budget, [1] * len(words)) if whole else units))[:budget]


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


# Against the literal algorithm


def literal_algorithm_2(
    words: Sequence[str], ranked: Iterable[Sequence[str]], budget: int, cut: bool = True
) -> list[int]:
    """MSLM's Algorithm 2 as it is written, a pass over the ranked vocabulary: the hidden words in the order of their
    choice. It knows of collocations only, so budget may be left over. Without `cut`, a collocation that does not fit is
    passed over. Repaired where its print is wrong: it ends where nothing is found, and hides no word twice."""
    chosen: list[int] = []
    for collocation in ranked:
        if len(chosen) >= budget:
            break
        for start in range(len(words) - len(collocation) + 1):
            end = start + len(collocation)
            if list(words[start:end]) != list(collocation) or not set(chosen).isdisjoint(range(start, end)):
                continue
            left = budget - len(chosen)
            if end - start > left and not cut:
                continue
            chosen += range(start, min(end, start + left))
    return chosen


@given(sentence=SENTENCES, rows=VOCABULARIES, seed=SEEDS)
def test_by_rank_it_is_the_literal_algorithm_which_passes_over_the_vocabulary(
    sentence: tuple[list[str], int], rows: list[str], seed: int
) -> None:
    words, budget = sentence
    literal = literal_algorithm_2(words, [row.split() for row in rows], budget)
    chosen = draw_collocations(words, vocabulary(*rows), budget, np.random.default_rng(seed), ranked=True)
    assert chosen[: len(literal)] == literal
    assert len(literal) <= budget


@given(sentence=SENTENCES, rows=VOCABULARIES, seed=SEEDS)
def test_by_rank_and_whole_nothing_is_cut_that_the_literal_algorithm_passes_over(
    sentence: tuple[list[str], int], rows: list[str], seed: int
) -> None:
    words, budget = sentence
    known = vocabulary(*rows)
    everything = draw_collocations(words, known, len(words), np.random.default_rng(seed), ranked=True)
    chosen = draw_collocations(words, known, budget, np.random.default_rng(seed), ranked=True, whole=True)
    apart = [unit for unit in slow_ranked_units(words, rows) if set(unit) <= set(everything)]
    expected: list[int] = []
    for unit in apart:
        if len(expected) + len(unit) <= budget:
            expected += unit
    assert chosen[: len(expected)] == expected


def slow_ranked_units(words: list[str], rows: list[str]) -> list[list[int]]:
    """The collocations that the literal algorithm would hide with all the room in the world, one at a time."""
    hidden = literal_algorithm_2(words, [row.split() for row in rows], len(words))
    units: list[list[int]] = []
    for row in rows:
        length = len(row.split())
        while hidden and words[hidden[0] : hidden[0] + length] == row.split():
            units.append(hidden[:length])
            hidden = hidden[length:]
    return units


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize(
    ("words", "rows"), [([], ["a b"]), (["a"], ["a b"]), (list("cccc"), ["a b"]), (list("abab"), [])]
)
def test_the_literal_algorithm_ends_on_nothing_one_word_and_no_match(
    words: list[str], rows: list[str], cut: bool
) -> None:
    """As printed it would go on for ever (E2.2)."""
    assert literal_algorithm_2(words, [row.split() for row in rows], len(words), cut) == []


def test_words_that_do_not_stand_side_by_side_are_no_match() -> None:
    """The released code takes them for one."""
    assert literal_algorithm_2(["new", "old", "york"], [("new", "york")], 3) == []
    assert literal_algorithm_2(["a", "b", "c"], [("b c",)], 3) == []  # one word with a blank in it is not two


# Whole ones only


def test_a_collocation_that_does_not_fit_is_passed_over_for_smaller_ones() -> None:
    known = vocabulary("new york city", "old york")
    assert drawn_whole(CITY, known, 4) == [2, 3, 4]
    assert drawn_whole(CITY, known, 2) == [6, 7]


def drawn_whole(text: str, known: Collocations, budget: int) -> list[int]:
    """The part of a draw by rank that belongs to collocations."""
    chosen = draw_collocations(text.split(), known, budget, np.random.default_rng(0), ranked=True, whole=True)
    return [word for word in chosen if word in {2, 3, 4, 6, 7}]


def test_where_nothing_smaller_is_left_it_is_cut_after_all() -> None:
    chosen = draw_collocations(["a", "b"], vocabulary("a b"), 1, np.random.default_rng(0), whole=True)
    assert chosen == [0]


@given(sentence=SENTENCES, rows=VOCABULARIES, seed=SEEDS)
def test_whole_units_are_hidden_or_left_while_any_single_word_is_free(
    sentence: tuple[list[str], int], rows: list[str], seed: int
) -> None:
    words, budget = sentence
    chosen = set(draw_collocations(words, vocabulary(*rows), budget, np.random.default_rng(seed), whole=True))
    assert len(chosen) == budget
    units = [set(range(*unit)) for unit in slow_units(words, rows)]
    free = [unit for unit in units if len(unit) == 1 and not unit & chosen]
    if free:
        assert all(unit <= chosen or not unit & chosen for unit in units)


def test_the_room_may_be_counted_otherwise_than_in_words() -> None:
    units = [range(0, 2), range(2, 3), range(3, 4)]
    assert fitting_first(units, 3, sizes=[2, 2, 3, 1]) == [range(2, 3), range(3, 4), range(0, 2)]


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
