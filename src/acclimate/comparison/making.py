"""The making of runs: how it goes is told, and a run that fails for a reason of its own does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

from acclimate.comparison.failures import is_expected, told
from acclimate.comparison.workers import Job, do_all, visible_gpus, workers
from acclimate.evaluation.table import duration


def make_all(work: Sequence[Job], executor: Executor | None, jobs: int, tell: Callable[[str], Any]) -> dict[str, str]:
    """Do the work, whose calls say how many seconds they took; returns why some of it failed, by its names."""
    failures: dict[str, str] = {}
    ended = 0

    def done(job: Job, seconds: float) -> None:
        nonlocal ended
        ended += 1
        tell(f"{ended} of {len(work)}: {job.name}, {duration(seconds)}")

    def failed(job: Job, failure: Exception) -> None:
        nonlocal ended
        if not is_expected(failure):
            raise failure
        ended += 1
        failures[job.name] = told(failure)
        tell(f"{ended} of {len(work)}: {job.name} FAILED: {failures[job.name]}")

    gpus = visible_gpus() if jobs > 1 and executor is None else []
    with workers(executor, min(jobs, len(work)), gpus) as hands:
        do_all(work, hands, done, failed)
    return failures
