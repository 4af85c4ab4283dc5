"""Make one run of a comparison, and let selectors judge it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from acclimate.comparison.judging import judge
from acclimate.runs.run import PlannedRun, finish_run, working_alone
from acclimate.runs.task import BlindTask


def run_trial(run: PlannedRun, task: BlindTask, selectors: Sequence[str] = (), threads: int | None = None) -> float:
    """Finish this run, from where it stands, let selectors judge it, and say how many seconds that took. The work of an
    executor: a plain function of what can be sent to another process."""
    started = time.monotonic()
    with working_alone(run.folder, threads):
        finish_run(run, task)
        judge(run, task, selectors)
    return time.monotonic() - started
