"""The benchmark without a source: which jobs there are, and what its table says."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from shared import finish_jobs
from source_free import LINES, jobs_of, options_of, table


def options(**changes: Any) -> Namespace:
    given = {
        "seeds": [1, 2],
        "labels": [0, 20],
        "targets": ["fin"],
        "own_targets": [],
        "lines": list(LINES),
        "variant": [],
        "judges": True,
    }
    return Namespace(**given | changes)


def test_without_labels_nothing_is_tuned_on_them_and_the_start_is_scored_once() -> None:
    found = [(job.line, job.labels, job.seed) for job in jobs_of(options())]
    assert [one for one in found if one[0] == "start"] == [("start", 0, 1)]
    assert not [one for one in found if one[0] in ("plain", "fine-tuned", "new-heads") and one[1] == 0]
    assert len(found) == 1 + 2 * 2 + 2 * 3
    assert len(set(jobs_of(options()))) == len(found)
    assert {job.part for job in jobs_of(options())} == {"judges"}


def test_types_that_the_start_does_not_know_are_learnt_from_labels_alone() -> None:
    found = [job for job in jobs_of(options(own_targets=["diseases"])) if job.target == "diseases"]
    assert {job.line for job in found} == {"plain", "fine-tuned", "new-heads"}
    assert {job.labels for job in found} == {20}
    assert {job.part for job in found} == {"test"}


def test_a_variant_is_a_line_of_its_own() -> None:
    assert options_of("tuning=0.2,balance=0") == {"tuning": 0.2, "balance": 0.0}


def test_the_mean_is_that_of_the_targets_seed_by_seed() -> None:
    rows = [
        {"line": "source-free", "labels": 0, "target": target, "seed": seed, "f1": f1, "kept": seed - 1}
        for target, seed, f1 in (("fin", 1, 10.0), ("wikigold", 1, 30.0), ("fin", 2, 20.0), ("wikigold", 2, 40.0))
    ]
    assert (
        table(rows, ("wikigold", "fin")).splitlines()[-1]
        == "| source-free | 0 | 35.00 ± 7.07 | 15.00 ± 7.07 | 25.00 ± 7.07 | 2 of 4 |"
    )


def counted(number: int) -> list[dict[str, int]]:
    return [{"number": number}]


def test_a_job_that_is_done_is_not_done_again_and_after_the_time_none_begins(tmp_path: Path) -> None:
    jobs: dict[str, tuple[Any, ...]] = {"a.jsonl": (1,), "b.jsonl": (2,)}
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.jsonl").write_text("kept")
    finish_jobs(jobs, counted, tmp_path, Namespace(jobs=1, minutes=0.0))
    assert sorted(file.name for file in (tmp_path / "rows").iterdir()) == ["a.jsonl"]
    finish_jobs(jobs, counted, tmp_path, Namespace(jobs=1, minutes=1.0))
    assert (tmp_path / "rows" / "a.jsonl").read_text() == "kept"
    assert (tmp_path / "rows" / "b.jsonl").read_text() == '{"number": 2}\n'
