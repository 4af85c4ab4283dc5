"""The benchmark of committees: which jobs there are, and what its table says."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from committee import jobs_of, member_jobs, runs_of, table


def options(**changes: Any) -> Namespace:
    given = {"seeds": [1, 2], "labels": [0], "typing": ["typed"], "targets": ["fin", "wikigold"], "sizes": [1, 3]}
    more = {"ways": ["vote", "marginals"], "recipes": ["source-only", "mat"], "encoder": "acclimate-mini"}
    return Namespace(**{**given, **more, "tuning": 3, "set": [], "out": "there", **changes})


def test_members_are_trained_once_for_committees_of_all_sizes() -> None:
    found = [(case.name, number) for case, number in member_jobs(options())]
    assert len(found) == len(set(found)) == 2 * 2 * 3
    assert len(list(jobs_of(options()))) == 2 * 2 * 2 * 2


def test_members_of_two_seeds_have_no_seed_in_common_and_recipes_take_turns() -> None:
    one, two = (next(iter(member_jobs(options(seeds=[seed]))))[0] for seed in (1, 2))
    first, second = (runs_of(options(), case) for case in (one, two))
    assert [run.recipe for run in first] == ["source-only", "mat", "source-only"]
    assert not {run.seed for run in first} & {run.seed for run in second}


def test_members_count_by_their_mean_and_the_last_column_is_that_of_the_targets() -> None:
    rows: list[dict[str, Any]] = [
        {"line": "member", "target": target, "seed": 1, "f1": f1, "number": number}
        for target, number, f1 in (("fin", 1, 10.0), ("fin", 2, 20.0), ("wikigold", 1, 30.0), ("wikigold", 2, 30.0))
    ]
    rows += [
        {"line": "vote", "target": target, "seed": seed, "f1": f1, "size": 2}
        for target, seed, f1 in (("wikigold", 1, 40.0), ("fin", 1, 20.0), ("fin", 2, 30.0))
    ]
    assert table(rows).splitlines()[2:] == [
        "| member | 30.00 | 15.00 | 22.50 |",
        "| vote 2 | 40.00 | 25.00 ± 7.07 | 30.00 |",
    ]
