"""A job for tests of the benchmarks' grid; it stands alone so that a process that does it is quickly there."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Job:
    name: str
    seed: int = 0


def job_of(row: dict[str, Any]) -> Job:
    return Job(row["name"], row["seed"])


def double(job: Job) -> list[dict[str, Any]]:
    return [{**asdict(job), "value": 2 * job.seed}]
