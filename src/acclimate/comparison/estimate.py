"""How long the runs of a comparison will take, told before they are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from acclimate.comparison.failures import is_expected, told
from acclimate.comparison.running import using_threads
from acclimate.evaluation.table import duration
from acclimate.runs.cost import expected_cost
from acclimate.runs.trial import Ground, Trial
from acclimate.training.rehearsal import RULE


def estimate_lines(left: Sequence[Trial], ground: Ground, jobs: int, threads: int | None) -> Iterator[str]:
    """What to tell of the runs that are left. A recipe that refuses is named, and no more than that: its runs will fail
    by themselves, and the others are made. Timed with as many threads as a run will have."""
    expected: dict[str, float] = {}
    for recipe, trial in {trial.recipe: trial for trial in left}.items():
        try:
            with using_threads(threads):
                expected[recipe] = expected_seconds(trial, ground)
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


def expected_seconds(trial: Trial, ground: Ground) -> float:
    """Of one run. A baseline of its own is counted in, one that runs share is not."""
    return trial.settings.share * expected_cost(trial, ground).seconds


def seconds_of_all(left: Sequence[Trial], expected: Mapping[str, float], hands: int) -> float:
    """All runs shared out, but never less than one of them and the baseline that it waits for."""
    each = {trial.folder: expected.get(trial.recipe, 0.0) for trial in left}
    chains = [each[trial.folder] + (each.get(trial.baseline, 0.0) if trial.baseline else 0.0) for trial in left]
    return max(sum(each.values()) / hands, *chains)
