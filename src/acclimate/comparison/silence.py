"""Why a selector has nothing to say of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acclimate.comparison.choices import Choice
from acclimate.comparison.judging import AGREEMENT, material_for
from acclimate.comparison.selectors.agreement import FEWEST
from acclimate.runs.run import PlannedRun
from acclimate.runs.task import BlindTask

NO_TEXT = "there is no target text"
NO_SOURCE = "there are no held-out source sentences to measure runs on"
LEARNT = "the source's dev sentences were learnt, too (train_on_dev)"
OWN = "a tagger of the target's own knows nothing of the source"

_ON_HELD_OUT_SOURCE = ("source-dev", "reverse-validation")
_ON_SOURCE = (*_ON_HELD_OUT_SOURCE, "mmd", "a-distance")


def silence_of(selector: str, run: PlannedRun, task: BlindTask) -> str:
    """Why it will not judge this run, whatever comes of it; empty where it may."""
    target = task.target
    if target is None or not target.word_count:
        return NO_TEXT
    material = material_for(run, task, target)
    if selector in _ON_SOURCE and material.source is None:
        return OWN
    if selector in _ON_HELD_OUT_SOURCE and material.source_dev is None:
        return LEARNT if run.settings.train_on_dev else NO_SOURCE
    return ""


def told_silent(
    selectors: Sequence[str], choices: Sequence[Choice], runs: Sequence[PlannedRun], task: BlindTask
) -> Iterator[str]:
    """Which of the selectors could judge none of the runs, and why."""
    spoken = {choice.selector for choice in choices}
    mute: dict[str, list[str]] = {}
    for selector in selectors:
        if selector not in spoken:
            mute.setdefault(_reason(selector, runs, task), []).append(selector)
    for reason, names in mute.items():
        yield f"Could judge no run: {', '.join(names)}{reason and f' ({reason})'}."


def _reason(selector: str, runs: Sequence[PlannedRun], task: BlindTask) -> str:
    reasons = [silence_of(selector, run, task) for run in runs]
    if all(reasons):
        return reasons[0]
    return f"it asks {FEWEST} runs at least" if selector == AGREEMENT and len(runs) < FEWEST else ""
