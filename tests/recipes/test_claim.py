"""A folder belongs to the run that began in it."""

from pathlib import Path

import pytest

from acclimate.recipes.claim import claim
from acclimate.settings import UsageError

BEGUN = {"seed": 1, "training": {"clip": 5.0, "epochs": 3}, "data": {"source": "abc"}}


def test_the_same_run_may_go_on(tmp_path: Path) -> None:
    claim(tmp_path / "training", BEGUN)
    claim(tmp_path / "training", BEGUN)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 2}, "seed: 1 then, 2 now"),
        ({"training": {"clip": None, "epochs": 3}}, "training.clip: 5.0 then, None now"),
        ({"data": {"source": "other"}}, "data.source"),
    ],
)
def test_another_run_is_refused_and_what_differs_is_named(tmp_path: Path, change: dict, named: str) -> None:
    claim(tmp_path / "training", BEGUN)
    with pytest.raises(UsageError, match=named):
        claim(tmp_path / "training", {**BEGUN, **change})
