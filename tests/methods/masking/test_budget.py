"""Budgets are rounded up, possible, and spent to the last word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.methods.masking.word_runs import fill_up, words_to_hide


@pytest.mark.parametrize(("share", "count", "budget"), [(0.15, 10, 2), (0.075, 25, 2), (0.225, 40, 9)])
def test_the_oracle_s_budgets_come_out(share: float, count: int, budget: int) -> None:
    assert words_to_hide(share, count) == budget


@pytest.mark.parametrize(
    ("share", "count", "budget"), [(0.07, 100, 7), (0.15, 1, 1), (0, 9, 0), (1, 9, 9), (0.5, 0, 0)]
)
def test_a_whole_number_stays_one_and_a_short_sentence_has_one_hidden(share: float, count: int, budget: int) -> None:
    assert words_to_hide(share, count) == budget


@given(st.sets(st.integers(0, 9)), st.integers(0, 10), st.integers(0, 99))
def test_what_was_chosen_stays_in_front_and_the_rest_is_new(chosen: set[int], more: int, seed: int) -> None:
    budget = min(10, len(chosen) + more)
    filled = fill_up(sorted(chosen), 10, budget, np.random.default_rng(seed))
    assert filled[: len(chosen)] == sorted(chosen)
    assert len(set(filled)) == len(filled) == budget
    assert set(filled) <= set(range(10))
