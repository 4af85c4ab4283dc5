"""SPAN: random runs of words, the budget spent exactly."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.methods.masking.word_runs import draw_spans, lay_spans

BUDGETS = st.integers(0, 40).flatmap(lambda count: st.tuples(st.just(count), st.integers(0, count)))
SEEDS = st.integers(0, 10_000)


def runs_of(chosen: list[int]) -> list[list[int]]:
    """Numbers that follow one another in the order of choice."""
    runs: list[list[int]] = []
    for word in chosen:
        if runs and word == runs[-1][-1] + 1:
            runs[-1].append(word)
        else:
            runs.append([word])
    return runs


def test_the_oracle_s_trace_is_followed() -> None:
    """As printed, Algorithm 1 would make twelve words of ten here (E2.1)."""
    chosen = lay_spans(10, 4, zip([8, 2, 5, 0], [4, 3, 2, 2], strict=True))
    assert chosen == [8, 9, 2, 3]
    assert [int(word in chosen) for word in range(10)] == [0, 0, 1, 1, 0, 0, 0, 0, 1, 1]


def test_a_run_that_meets_a_hidden_word_is_skipped_and_one_beside_it_is_not() -> None:
    assert lay_spans(9, 9, [(3, 2), (2, 2), (4, 3), (5, 2), (1, 2)]) == [3, 4, 5, 6, 1, 2]


def test_a_run_is_cut_to_the_budget_before_it_is_tried() -> None:
    assert lay_spans(9, 3, [(3, 2), (2, 4)]) == [3, 4, 2]


@given(BUDGETS, SEEDS)
def test_the_budget_is_spent_exactly_and_no_word_twice(sizes: tuple[int, int], seed: int) -> None:
    count, budget = sizes
    chosen = draw_spans(count, budget, np.random.default_rng(seed))
    assert len(chosen) == len(set(chosen)) == budget
    assert set(chosen) <= set(range(count))


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(2, 4))), st.integers(0, 20))
def test_laid_runs_are_those_of_a_slow_and_obvious_walk(spans: list[tuple[int, int]], budget: int) -> None:
    hidden = [False] * 20
    for start, length in spans:
        while length and (start + length > 20 or sum(hidden) + length > budget):
            length -= 1
        if not any(hidden[start : start + length]):
            hidden[start : start + length] = [True] * length
    assert sorted(lay_spans(20, budget, spans)) == [word for word in range(20) if hidden[word]]


@given(SEEDS)
def test_a_seed_gives_the_same_words_again(seed: int) -> None:
    first, again = (draw_spans(30, 9, np.random.default_rng(seed)) for _ in range(2))
    assert first == again


def test_other_seeds_give_other_words() -> None:
    assert len({tuple(draw_spans(30, 9, np.random.default_rng(seed))) for seed in range(20)}) == 20


@pytest.mark.parametrize("seed", range(10))
def test_everything_nothing_and_a_single_word_can_be_hidden(seed: int) -> None:
    dice = np.random.default_rng(seed)
    assert sorted(draw_spans(7, 7, dice)) == list(range(7))
    assert draw_spans(7, 0, dice) == draw_spans(0, 0, dice) == []
    assert draw_spans(1, 1, dice) == [0]


def test_two_three_and_four_words_are_equally_frequent() -> None:
    """The first run in a long sentence and a wide budget is hardly ever cut."""
    dice = np.random.default_rng(0)
    lengths = Counter(len(runs_of(draw_spans(400, 8, dice))[0]) for _ in range(3_000))
    assert [lengths[length] / 3_000 for length in (2, 3, 4)] == pytest.approx([1 / 3] * 3, abs=0.03)


def test_the_lengths_can_be_chosen() -> None:
    chosen = draw_spans(300, 20, np.random.default_rng(1), lengths=(5,))
    assert [len(run) for run in runs_of(chosen)] == [5, 5, 5, 5]


def test_a_budget_that_its_runs_leave_over_goes_to_single_words() -> None:
    """Here each of the twelve starts is tried, and three words lie alone between runs."""
    starts = [1, 5, 9, 0, 2, 3, 4, 6, 7, 8, 10, 11]
    assert lay_spans(12, 12, [(start, 3) for start in starts]) == [1, 2, 3, 5, 6, 7, 9, 10, 11]
    for seed in range(50):
        assert sorted(draw_spans(12, 12, np.random.default_rng(seed), lengths=(3,))) == list(range(12))


@pytest.mark.parametrize("lengths", [(), (0, 2)])
def test_impossible_lengths_are_refused(lengths: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="from 1 on"):
        draw_spans(5, 2, np.random.default_rng(0), lengths)
