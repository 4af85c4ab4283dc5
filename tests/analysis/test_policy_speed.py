"""Wall-clock per policy."""

from __future__ import annotations

from typing import Any

import pytest

from acclimate.analysis.policy_speed import policy_speeds
from acclimate.data.problems import InputError


def time_of(policy: str, updates: int, seconds: float) -> dict[str, Any]:
    return {"policy": policy, "updates": updates, "seconds": seconds}


def test_speed_is_told_beside_random_masking() -> None:
    adversarial, random = policy_speeds([time_of("adversarial", 25_000, 7 * 3600), time_of("random", 25_000, 4 * 3600)])
    assert adversarial.time_beside_random == pytest.approx(7 / 4)
    assert random.time_beside_random == 1.0
    assert random.updates_per_second == pytest.approx(25_000 / (4 * 3600))


def test_runs_of_a_policy_are_added_up() -> None:
    (found,) = policy_speeds([time_of("random", 100, 10), time_of("random", 300, 10)])
    assert (found.runs, found.updates, found.seconds, found.updates_per_second) == (2, 400, 20, 20.0)


def test_without_random_runs_there_is_no_comparison() -> None:
    (found,) = policy_speeds([time_of("entropy", 100, 10)])
    assert found.as_dict()["time_beside_random"] is None


def test_no_runs_have_no_speed() -> None:
    assert policy_speeds([]) == []


@pytest.mark.parametrize("row", [{}, time_of("a", 0, 1), time_of("a", 1, 0), {**time_of("a", 1, 1), "seconds": None}])
def test_a_run_without_time_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"needs policy, updates and seconds|tell no speed"):
        policy_speeds([row])
