"""How `acclimate` ends: ways that begin alike share what is trained, and each trains its own stages."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import finishing
from finishing import APART, COMMON, WAYS, Start, do, start_of, table
from leaderboard_jobs import Run

START = Start("fin", True, "domain_tuning.updates=3", "together", seed=2)


def stages_of(changes: tuple[str, ...]) -> list[str]:
    rounds = ["02-round-1"] if "anchors=true" in changes else []
    return [*COMMON, *rounds, *([f"{len(COMMON) + len(rounds):02}-apart"] if APART in changes else [])]


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The stages that each way trained, in the place of training them."""
    found: list[list[str]] = []

    def trained(run: Run, job: Any, folder: Path) -> tuple[None, dict[str, Any]]:
        wanted = stages_of(job.changes)
        found.append([name for name in wanted if not (folder / name).is_dir()])
        for name in wanted:
            (folder / name).mkdir(parents=True, exist_ok=True)
        return None, {"updates": 10, "ms_per_update": 100.0}

    monkeypatch.setattr(finishing, "trained", trained)
    monkeypatch.setattr(finishing, "judged", lambda *_: {"judges": 50.0})
    monkeypatch.setattr(finishing, "tested", lambda *_: {"f1": 40.0})
    return found


def test_what_ways_share_is_trained_once_and_the_rest_by_each_of_them(
    trainings: list[list[str]], tmp_path: Path
) -> None:
    rows = do(Run("", str(tmp_path), "", {}, (), None), START)
    assert [row["way"] for row in rows] == list(WAYS["together"])
    common, apart, alone = list(COMMON), ["02-apart"], ["02-round-1"]
    assert trainings == [common, apart, apart, alone, ["03-apart"]]
    assert not any((tmp_path / "stages").iterdir())


def test_a_start_is_found_again_in_each_of_its_rows(trainings: list[list[str]], tmp_path: Path) -> None:
    rows = do(Run("", str(tmp_path), "", {}, (), None), START)
    assert {start_of(row) for row in rows} == {START}


def test_the_table_is_of_the_judges(trainings: list[list[str]], tmp_path: Path) -> None:
    rows = do(Run("", str(tmp_path), "", {}, (), None), START)
    shown = table(rows, [], Namespace(targets=["fin"], typing=[True]))
    assert "| rounds, apart | 50.00 | 50.00 |" in shown
    assert "40.0" not in shown
