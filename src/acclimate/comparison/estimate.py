"""How long the runs of a comparison will take, told before they are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from acclimate.comparison.failures import is_expected, told
from acclimate.evaluation.table import duration
from acclimate.runs.cost import expected_cost
from acclimate.runs.run import PlannedRun, using_threads
from acclimate.runs.task import BlindTask
from acclimate.training.rehearsal import RULE


def estimate_lines(left: Sequence[PlannedRun], task: BlindTask, jobs: int, threads: int | None) -> Iterator[str]:
    """What to tell of the runs that are left. A recipe that refuses is named, and no more than that: its runs will fail
    by themselves, and the others are made. Timed with as many threads as a run will have."""
    expected: dict[str, float] = {}
    for recipe, run in {run.recipe: run for run in left}.items():
        try:
            with using_threads(threads):
                expected[recipe] = expected_seconds(run, task)
        except Exception as failure:
            if not is_expected(failure):
                raise
            yield f"{recipe} cannot be timed, and its runs will fail: {told(failure)}"
    if expected:
        hands = min(jobs, len(left))
        parts = ", ".join(f"{recipe} {duration(seconds)}" for recipe, seconds in expected.items())
        shared = f" by {hands} processes" if hands > 1 else ""
        whole = duration(seconds_of_all(left, expected, hands))
        yield f"expected time: about {whole}{shared} ({RULE}; judging the runs comes on top). One run: {parts}."


def expected_seconds(run: PlannedRun, task: BlindTask) -> float:
    """Of one run. A baseline of its own is counted in, one that runs share is not."""
    return run.settings.share * expected_cost(task, run.settings, run.baseline is not None).seconds


def seconds_of_all(left: Sequence[PlannedRun], expected: Mapping[str, float], hands: int) -> float:
    """All runs shared out, but never less than one of them and the baseline that it waits for."""
    each = {run.folder: expected.get(run.recipe, 0.0) for run in left}
    chains = [each[run.folder] + (each.get(run.baseline, 0.0) if run.baseline else 0.0) for run in left]
    return max(sum(each.values()) / hands, *chains)
