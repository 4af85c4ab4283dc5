"""When a change is not to be claimed, whatever the tests of significance say."""

from __future__ import annotations

import pytest

from acclimate.evaluation.seen import LEARNT, PERHAPS_UNLEARNT, UNLEARNT, Reservation, Shared, reservation


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        (0.0, 0.0, UNLEARNT),
        (0.0, None, UNLEARNT),
        (0.5, 0.0, None),  # knows the source: on the target 0 may be right
        (0.5, 0.5, None),
        (None, 0.0, PERHAPS_UNLEARNT),
        (None, 0.1, None),
        (None, None, None),
    ],
)
def test_the_source_tells_whether_a_baseline_has_learnt_and_the_target_where_there_is_no_source_score(
    source: float | None, target: float | None, found: Reservation | None
) -> None:
    assert reservation(source, target, None) is found


@pytest.mark.parametrize(("learnt", "is_reserved"), [(0, False), (20, False), (21, True), (40, True)])
def test_nothing_is_claimed_on_a_test_of_which_more_than_half_was_learnt(learnt: int, is_reserved: bool) -> None:
    assert reservation(0.5, 0.5, Shared(learnt, 40)) is (LEARNT if is_reserved else None)
    assert reservation(0.0, 0.0, Shared(learnt, 40)) is (LEARNT if is_reserved else UNLEARNT)
