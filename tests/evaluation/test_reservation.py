"""When a change is not to be claimed, whatever the tests of significance say."""

from __future__ import annotations

import pytest

from acclimate.evaluation.reservation import PERHAPS_UNLEARNT, UNLEARNT, Reservation, reservation


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
    assert reservation(source, target) is found
