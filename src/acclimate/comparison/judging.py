"""Let selectors judge finished runs, keep what they say, and tell what they would choose."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.comparison.run_result import RunResult
from acclimate.comparison.selectors import (
    FEWEST,
    InformationMaximisation,
    Material,
    MeanDiscrepancy,
    MeanEntropy,
    NeighbourhoodDensity,
    ProxyADistance,
    ReverseValidation,
    RunSelector,
    SourceDev,
    Tags,
    agreement,
    sample_answers,
)
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.model.storage import StorageError
from acclimate.model.tagger import Tagger
from acclimate.runs.checksummed_json import read_checksummed, write_checksummed
from acclimate.runs.folder import JUDGEMENTS
from acclimate.runs.prepare import choose_selector
from acclimate.runs.run import PlannedRun, finish_run, working_alone
from acclimate.runs.task import BlindTask
from acclimate.settings import UsageError
from acclimate.spelling import did_you_mean
from acclimate.training.engine import device_for
from acclimate.training.stage import DevelopmentScore

SELECTORS: dict[str, RunSelector] = {
    "source-dev": SourceDev(),
    "entropy": MeanEntropy(),
    "information-maximisation": InformationMaximisation(),
    "neighbourhood-density": NeighbourhoodDensity(),
    "feature-density": NeighbourhoodDensity("features"),
    "reverse-validation": ReverseValidation(),
    "mmd": MeanDiscrepancy(),
    "a-distance": ProxyADistance(),
}
AGREEMENT = "agreement"  # asks all runs together, and is answered when they are over
ALL_SELECTORS = (*SELECTORS, AGREEMENT)

_FILE, _ANSWERS = JUDGEMENTS  # the second are those of the run on the target's sample


def require_selectors(names: Sequence[str]) -> None:
    for name in names:
        if name not in ALL_SELECTORS:
            raise UsageError(
                f"Unknown selector {name!r}.{did_you_mean(name, ALL_SELECTORS)} Known: {', '.join(ALL_SELECTORS)}."
            )


def judge(run: PlannedRun, task: BlindTask, selectors: Sequence[str]) -> None:
    """Let the selectors judge a finished run, and keep what they say in its folder, or what one that asks all runs will
    need. None is asked twice."""
    said = _read(run)
    missing = [name for name in selectors if name in SELECTORS and name not in said]
    is_asked = AGREEMENT in selectors and _kept(run, _ANSWERS) is None
    if not (missing or is_asked) or task.target is None:
        return
    tagger = Tagger.load(run.folder, device_for(run.settings.training))
    material = material_for(run, task, task.target)
    if is_asked:
        write_checksummed(run.folder / _ANSWERS, {"kind": tagger.labels.kind, "tags": sample_answers(tagger, material)})
    for name in missing:
        try:
            said[name] = SELECTORS[name](tagger, material)
        except InputError:  # too little text for this one
            said[name] = None
    if missing:
        write_checksummed(run.folder / _FILE, said)


def read_judgements(runs: Sequence[PlannedRun], selectors: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """What `judge` kept of these runs, by their names; None for a selector that was not asked or could not say."""
    said = {run.name: _read(run) for run in runs}
    if AGREEMENT in selectors:
        for name, value in _agreement(runs).items():
            said[name][AGREEMENT] = value
    return {run: {name: found.get(name) for name in selectors} for run, found in said.items()}


def _agreement(runs: Sequence[PlannedRun]) -> Mapping[str, float | None]:
    """Of runs that answered with tags of one kind: a tagger of the target's own may have others."""
    kept = {run.name: _read_answers(run) for run in runs}
    found = {name: answers for name, answers in kept.items() if answers is not None}
    if len({kind for kind, _ in found.values()}) != 1:
        return {}
    (kind,) = {kind for kind, _ in found.values()}
    return agreement({name: tags for name, (_, tags) in found.items()}, kind)


def _read_answers(run: PlannedRun) -> tuple[Any, Tags] | None:
    found = _kept(run, _ANSWERS) or {"tags": None}
    return None if found["tags"] is None else (found["kind"], found["tags"])


def material_for(run: PlannedRun, task: BlindTask, target: Corpus) -> Material:
    """What selectors may see of this run. A tagger of the target's own knows nothing of the source. Sentences that were
    learnt measure nothing: without `source_dev` there are others only where the run held some out to choose by."""
    settings = run.settings
    own = task.trains_target(run.recipe)
    dev = None
    is_held_out = task.source_dev is not None or settings.select in ("auto", "source-dev")
    if is_held_out and not own and not settings.train_on_dev:
        _, selector, _ = choose_selector(task.source, task.source_dev, None, "source-dev", run.seed)
        dev = selector.corpus if isinstance(selector, DevelopmentScore) else None
    return Material(
        target.unlabelled(), None if own else task.source, dev, settings.tagger, settings.training, run.seed
    )


def _read(run: PlannedRun) -> dict[str, float | None]:
    return _kept(run, _FILE) or {}


def _kept(run: PlannedRun, name: str) -> Any:
    """None where nothing was kept, or where it cannot be believed: then the run is judged once more."""
    try:
        return read_checksummed(run.folder / name)
    except (FileNotFoundError, StorageError):
        return None


def run_and_judge(run: PlannedRun, task: BlindTask, selectors: Sequence[str] = (), threads: int | None = None) -> float:
    """Finish this run, from where it stands, let selectors judge it, and say how many seconds that took. The work of an
    executor: a plain function of what can be sent to another process."""
    started = time.monotonic()
    with working_alone(run.folder, threads):
        finish_run(run, task)
        judge(run, task, selectors)
    return time.monotonic() - started


@dataclass(frozen=True)
class Choice:
    """A selector, the run that it prefers, and the regret: how much better the best run is, on the test. The last two
    are None without gold tags. `silent` runs are those that the selector could not judge, `tied` ones have the same
    value as the chosen one, which is only the first of them."""

    selector: str
    recipe: str
    seed: int
    value: float
    target_f1: float | None
    regret: float | None
    silent: int = 0
    tied: int = 0


def choose(selector: str, runs: Sequence[RunResult]) -> Choice | None:
    """The run with the highest judgement, of equal ones the first; None where it could judge none."""
    judged = [(run, value) for run in runs if (value := run.judgements.get(selector)) is not None]
    judged = [(run, value) for run, value in judged if math.isfinite(value)]
    if not judged:
        return None
    run, value = max(judged, key=lambda pair: pair[1])
    best = max((other.f1 for other in runs if other.f1 is not None), default=None)
    regret = None if best is None or run.f1 is None else best - run.f1
    tied = sum(other == value for _, other in judged) - 1
    return Choice(selector, run.recipe, run.seed, value, run.f1, regret, len(runs) - len(judged), tied)


def choices_of(selectors: Iterable[str], runs: Sequence[RunResult]) -> tuple[Choice, ...]:
    found = (choose(selector, runs) for selector in selectors)
    return tuple(choice for choice in found if choice is not None)


NO_TEXT = "there is no target text"
NO_SOURCE = "there are no held-out source sentences to measure runs on"
LEARNT = "the source's dev sentences were learnt, too (train_on_dev)"
OWN = "a tagger of the target's own knows nothing of the source"

_ON_HELD_OUT_SOURCE = ("source-dev", "reverse-validation")
_ON_SOURCE = (*_ON_HELD_OUT_SOURCE, "mmd", "a-distance")


def why_no_judgement(selector: str, run: PlannedRun, task: BlindTask) -> str:
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


def missing_judgements(
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
    reasons = [why_no_judgement(selector, run, task) for run in runs]
    if all(reasons):
        return reasons[0]
    return f"it asks {FEWEST} runs at least" if selector == AGREEMENT and len(runs) < FEWEST else ""
