"""What a time budget makes shorter: tuning first, then everything else alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.runs.budget import LEAST, Budget
from acclimate.training.rehearsal import Cost

COST = Cost(100.0, 1150, (("source", 100, 20.0), ("domain-tuning", 1000, 50.0), ("learn", 50, 20.0)))


@pytest.mark.parametrize(
    ("seconds", "tuning", "others"),
    [(200, 1, 1), (100, 1, 1), (75, 0.5, 1), (55, 0.1, 1), (35, 0.1, 0.5), (0, 0.1, LEAST)],
)
def test_tuning_is_shortened_first(seconds: float, tuning: float, others: float) -> None:
    found = Budget.of(COST, seconds)
    assert (found.tuning, found.others) == (pytest.approx(tuning), pytest.approx(others))


@given(st.floats(18.0, 200.0))
def test_what_is_left_keeps_to_the_time(seconds: float) -> None:
    left = Budget.of(COST, seconds).cut(COST)
    assert left.seconds <= max(seconds, 17.1) + 1e-9
    assert left.seconds >= min(seconds, COST.seconds) - 1e-9


def test_without_tuning_the_rest_is_shortened_and_what_cannot_be_kept_to_is_told() -> None:
    cost = Cost(40.0, 100, (("source", 100, 40.0),))
    assert Budget.of(cost, 10) == Budget(1.0, 0.25)
    assert "all other stages to 5%" in Budget.of(cost, 1).describe(1 / 60, cost)
    assert "longer all the same, about" in Budget.of(cost, 1).describe(1 / 60, cost)
    assert Budget.of(cost, 60).describe(1, cost) == "All of it fits into 1 min."
