"""The benchmark of labelling: which jobs there are, and what its tables say of given rows."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any, get_args

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from acclimate.methods.acquisition.settings import AcquisitionName
from acclimate.reproduction.datasets import find_dataset
from labelling import ACQUISITIONS, TARGETS, WORDS, along, at, effort, jobs_of, reached, tables

CURVE = [(0, 0, 10.0), (10, 100, 20.0), (100, 400, 50.0)]


def rows(acquisition: str, f1: dict[int, float], seed: int = 1, words: int = 10) -> list[dict[str, Any]]:
    about = {"start": "general", "acquisition": acquisition, "target": "fin", "seed": seed}
    return [{**about, "sentences": number, "words": words * number, "f1": value} for number, value in f1.items()]


GIVEN = [
    *rows("random", {0: 0.1, 50: 0.3, 100: 0.5}),
    *rows("random", {0: 0.1, 50: 0.5, 100: 0.7}, seed=2),
    *rows("entities", {0: 0.1, 50: 0.6, 100: 0.8}, words=20),
    *rows("entities", {0: 0.1, 50: 0.5, 100: 0.6}, seed=2, words=20),
]


def test_every_acquisition_runs_from_every_start_on_every_target() -> None:
    given = Namespace(seeds=[1, 2], targets=["fin"], starts=["general", "scratch"], acquisitions=["random", "entities"])
    jobs = list(jobs_of(given))
    assert len(set(jobs)) == len(jobs) == 8


def test_the_benchmark_knows_all_acquisitions_and_its_data_sets() -> None:
    assert set(ACQUISITIONS) == set(get_args(AcquisitionName))
    assert all(find_dataset(name) for name, _ in TARGETS.values())


def test_f1_between_two_rounds_lies_on_the_line_between_them() -> None:
    assert at(CURVE, 0, 0) == 10.0
    assert at(CURVE, 0, 5) == pytest.approx(15.0)
    assert at(CURVE, 1, 250) == pytest.approx(35.0)
    assert at(CURVE, 0, 101) is None


def test_the_effort_is_where_the_curve_first_gets_there() -> None:
    assert reached(CURVE, 0, 35.0) == pytest.approx(55.0)
    assert reached(CURVE, 1, 20.0) == pytest.approx(100.0)
    assert reached(CURVE, 0, 5.0) == 0
    assert reached(CURVE, 0, 60.0) is None


def test_the_tables_are_means_by_seed_and_effort_is_beside_random() -> None:
    assert "| entities | 10.00 ± 0.00 | 55.00 ± 7.07 | 70.00 ± 14.14 |" in along(GIVEN, 0, (0, 50, 100))
    assert "| random | 22.00 ± 5.66 | 40.00 ± 14.14 | 60.00 ± 14.14 |  |  |" in along(GIVEN, 1, WORDS)
    # seed 1: 50 % on the way from 0 to 50; seed 2: 70 % never
    assert "| entities | 40 | 800 | 1 of 2 |" in effort(GIVEN)
    assert "| random | 100 | 1000 | 0 of 2 |" in effort(GIVEN)
    assert "## From general" in tables(GIVEN)
