"""Make one run: train, tag the target's test sentences, save. What it found out is on disk, in the run's folder."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from acclimate.comparison.judging import judge
from acclimate.data.corpus import Corpus
from acclimate.inference.predict import predict
from acclimate.model.siblings import save_siblings
from acclimate.model.tagger import Tagger
from acclimate.runs.fingerprint import clear_stages
from acclimate.runs.folder import sealed_claim, state_of, take
from acclimate.runs.lock import locked
from acclimate.runs.memory import forget_peak, peak_megabytes
from acclimate.runs.result import Outcome
from acclimate.runs.run import CLAIM, PREDICTIONS, REPORT, PlannedRun
from acclimate.runs.task import BlindTask, tagger_for
from acclimate.runs.train import adapt

# seeds and the engine's state belong to a process: threads of one (Dask workers may have several) take turns
_ALONE = threading.Lock()


def run_trial(run: PlannedRun, task: BlindTask, selectors: Sequence[str] = (), threads: int | None = None) -> float:
    """Finish this run, from where it stands, let selectors judge it, and say how many seconds that took. The work of an
    executor: a plain function of what can be sent to another process."""
    started = time.monotonic()
    with _ALONE, using_threads(threads), locked(run.folder):
        if state_of(run, task) != "finished":
            _train(run, task)
        judge(run, task, selectors)
    return time.monotonic() - started


def _train(run: PlannedRun, task: BlindTask) -> None:
    settings = run.settings
    forget_peak()
    torch.manual_seed(run.seed)
    test = task.target_test
    before: list[Any] = []

    def look(when: str, shown: Tagger, siblings: Mapping[str, Tagger]) -> None:
        if when == "before" and test is not None:
            before[:] = tags_of(shown, test)

    tagger = tagger_for(task, settings)
    outcome = adapt(
        tagger,
        task.source,
        task.target,
        run.recipe,
        target_labelled=task.target_labelled,
        source_dev=task.source_dev,
        source_test=task.source_test,
        target_dev=task.target_dev,
        select=settings.select,
        train_on_dev=settings.train_on_dev,
        training=settings.training,
        seed=run.seed,
        out=run.folder,
        baseline=run.baseline,
        look=look,
        shortened=settings.share,
        begin=lambda: take(run, task),
        progress=False,  # who compares is told how far all runs are
        **settings.options,
    )
    memory = peak_megabytes()
    # a tagger of another make than that of the run source-only has a baseline of its own
    predictions = {
        "target_test": None if test is None else tags_of(tagger, test),
        "before": before if before and outcome.make else None,
    }
    report = {
        **outcome.as_dict(),
        "seed": run.seed,
        "training_seconds": round(training_seconds(outcome), 3),
        "training_updates": sum(stage["updates"] for stage in own_stages(outcome)),
        "peak_megabytes": memory,
    }
    save_siblings(run.folder, {name: each.tagger for name, each in outcome.siblings.items()})
    tagger.save(
        run.folder,
        **{
            CLAIM: json.dumps(sealed_claim(run, task), indent=2, ensure_ascii=False),
            REPORT: json.dumps(report, indent=2, ensure_ascii=False),
            PREDICTIONS: json.dumps(predictions, ensure_ascii=False),
        },
    )
    clear_stages(run.folder / "training")
    (run.folder / "training" / CLAIM).unlink(missing_ok=True)


def tags_of(tagger: Tagger, test: Corpus) -> list[Any]:
    return [sentence.tags for sentence in predict(tagger, test)]


def training_seconds(outcome: Outcome) -> float:
    """What the recipe alone takes. Time before an interruption counts."""
    return float(sum(stage["seconds"] for stage in own_stages(outcome)))


def own_stages(outcome: Outcome) -> list[dict[str, Any]]:
    """The stages of the recipe alone: with the baseline's only where it starts from that."""
    return outcome.stages if outcome.needs_plain_stages else outcome.stages[outcome.plain_stages :]


@contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """So many threads for what is done within; as many as there are, for None."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
