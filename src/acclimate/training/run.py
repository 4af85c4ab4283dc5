"""Run the stages of a recipe: resume what is half done, skip what is done, keep the best of each."""

from __future__ import annotations

import math
import shutil
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import Tensor

from acclimate.model.cuda_graphs.training_graphs import TrainingGraphs
from acclimate.model.learner import Learner
from acclimate.model.storage import (
    StorageError,
    atomic_folder,
    read_json,
    read_tensors,
    verify,
    write_json,
    write_tensors,
)
from acclimate.training.loop import Progress, Training, give_back_memory, under_way
from acclimate.training.record import Record, load_checkpoint, save_checkpoint
from acclimate.training.stage import Selector, Stage

_WEIGHTS = "learner.safetensors"
EARLIER = (
    "seconds_earlier"  # in a stage's summary: how many of its seconds were spent before this process went on with it
)
_LOG_EVERY = 10  # updates: often enough to watch, seldom enough not to make a GPU wait


class Diverged(RuntimeError):
    """A loss that is no number any more."""


class Watcher(Protocol):
    """Somebody who looks on: a progress bar, or nobody."""

    def skip(self, stage: str, updates: int, told: str) -> None: ...
    def begin(self, stage: str, update: int, updates: int) -> None: ...
    def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None: ...
    def judged(self, update: int, told: str, is_best: bool) -> None: ...
    def end(self, stage: str) -> None: ...
    def warned(self, message: str) -> None: ...


class Nobody:
    """A watcher that does not look, and passes on what must be heard."""

    def skip(self, stage: str, updates: int, told: str) -> None: ...
    def begin(self, stage: str, update: int, updates: int) -> None: ...
    def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None: ...
    def judged(self, update: int, told: str, is_best: bool) -> None: ...
    def end(self, stage: str) -> None: ...

    def warned(self, message: str) -> None:
        warnings.warn(message, stacklevel=2)


@dataclass
class BestState:
    """What the choice of the best state rests on; it travels with every checkpoint."""

    best_score: float | None = None
    best_update: int = 0
    improved_update: int = 0
    evaluations: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0

    def judge(self, update: int, score: float) -> bool:
        """Whether this state is the one to keep. Of equal ones the later: it has learnt longer."""
        self.evaluations.append((update, score))
        if not math.isfinite(score):
            return False  # a state that cannot be measured is not worth keeping
        if self.best_score is None or score > self.best_score:
            self.improved_update = update
        if self.best_score is not None and score < self.best_score:
            return False
        self.best_score, self.best_update = score, update
        return True

    def is_improved_at(self, update: int) -> bool:
        """Whether the evaluation at this update beat all before it."""
        return self.best_score is not None and self.improved_update == update

    def out_of_patience(self, patience: int | None, lowest: float) -> bool:
        """Whether the last `patience` evaluations all failed to beat the best one. While none is above `lowest`,
        nothing has been learnt that could stop to grow."""
        if patience is None or self.best_score == lowest:
            return False
        return sum(update > self.improved_update for update, _ in self.evaluations) >= patience


class CheckpointSchedule:
    """When to save: every so many updates, or else about once a minute and for at most a twentieth of the time."""

    def __init__(self, every: int | None) -> None:
        self.every, self.wait, self.last = every, 60.0, time.monotonic()

    def is_due(self, update: int) -> bool:
        return update % self.every == 0 if self.every else time.monotonic() - self.last >= self.wait

    @contextmanager
    def saving(self) -> Iterator[None]:
        begun = time.monotonic()
        yield
        self.last = time.monotonic()
        self.wait = max(60.0, 20 * (self.last - begun))


def run_stages(
    learner: Learner,
    stages: Iterable[Stage],
    engine: Accelerator,
    selector: Selector,
    seed: int,
    folder: Path | None = None,
    watcher: Watcher | None = None,
    record: Record | None = None,
) -> list[dict[str, Any]]:
    """Train the learner through all stages, in place. Returns one summary per stage."""
    watcher, record = watcher or Nobody(), record or Record()
    learner.to(engine.device)  # also when every stage is on disk already
    summaries: list[dict[str, Any]] = []
    graphs = TrainingGraphs()
    try:
        for stage in _seeded(stages, seed):
            place = None if folder is None else folder / f"{len(summaries):02d}-{stage.name}"
            summary = _load_finished(stage.learner or learner, place, watcher)
            if summary is not None:
                score = summary["score"]
                told = "" if score is None else (stage.selector or selector).told(score)
                watcher.skip(stage.name, summary["updates"], told)
                summary[EARLIER] = summary["seconds"]
            else:
                with under_way(stage.learner or learner, stage, engine, graphs) as training:
                    summary = _run_stage(learner, training, stage.selector or selector, place, watcher, record)
            summaries.append(summary)
    finally:
        graphs.forget()
        give_back_memory(engine)
    return summaries


def first_seed(seed: int) -> int:
    """The random numbers of a run's first stage begin here."""
    return seed * 1_000


def _seeded(stages: Iterable[Stage], seed: int) -> Iterator[Stage]:
    """Each stage seeds itself, so that skipping the ones before it changes nothing; and it does so before the recipe
    makes it, since objectives draw the first weights of their own parts there."""
    waiting = iter(stages)
    for number in count():
        torch.manual_seed(first_seed(seed) + number)
        stage = next(waiting, None)
        if stage is None:
            return
        yield stage


def _run_stage(
    learner: Learner,
    training: Training,
    selector: Selector,
    folder: Path | None,
    watcher: Watcher,
    record: Record,
) -> dict[str, Any]:
    stage, engine = training.stage, training.engine
    trained = stage.learner or learner  # the learner is a part of it
    if engine.num_processes > 1:  # or every process would drop the same features; the weights are the first one's
        torch.manual_seed(torch.initial_seed() + 1_000_003 * engine.process_index)
    memory = BestState()
    best: dict[str, Tensor] = {}
    resumed = None if folder is None else load_checkpoint(folder, training, watcher.warned)
    if resumed is not None:
        notes, best = resumed
        memory = BestState(**{**notes, "evaluations": [(update, score) for update, score in notes["evaluations"]]})
    record.rewind(stage.name, -1 if resumed is None else training.update)
    watcher.begin(stage.name, training.update, stage.updates)
    earlier = memory.seconds
    started = time.monotonic() - earlier
    if stage.selector is not None and not selector.is_blind and resumed is None:
        # how it was before: a stage that only makes things worse leaves everything as it is
        score = _agreed(selector(learner), engine)
        memory.judge(0, score)
        best = _snapshot(trained)
        watcher.judged(0, selector.told(score), False)
        record.add("evaluation", stage.name, 0, score=score, selector=selector.name, epoch=0.0)
        _write_watches(stage, trained, 0, record)
    pace = CheckpointSchedule(stage.settings.checkpoint_every)
    for progress in training:
        last = progress.update == stage.updates
        evaluates = last or progress.update % stage.evaluate_every == 0
        losses = _readable(progress) if evaluates or progress.update % _LOG_EVERY == 0 else None
        watcher.advance(progress, losses)
        if losses is not None:
            record.add("update", stage.name, progress.update, learning_rate=progress.learning_rate, **losses)
            _write_notes(stage, progress.update, record)
        if evaluates:
            score = _agreed(selector(learner), engine)
            if memory.judge(progress.update, score) and not selector.is_blind:
                best = _snapshot(trained)
            is_better = memory.is_improved_at(progress.update) and score > selector.lowest
            watcher.judged(progress.update, selector.told(score), is_better and not selector.is_blind)
            epoch = round(progress.update / stage.updates_per_epoch, 3)
            record.add("evaluation", stage.name, progress.update, score=score, selector=selector.name, epoch=epoch)
            _write_watches(stage, trained, progress.update, record)
            if not selector.is_blind and memory.out_of_patience(stage.settings.patience, selector.lowest):
                break
        if folder is not None and engine.is_main_process and not last and pace.is_due(progress.update):
            memory.seconds = time.monotonic() - started
            with pace.saving():
                save_checkpoint(folder, training, vars(memory), best)
    if best:
        trained.load_state_dict(best)
    watcher.end(stage.name)
    summary = {
        "stage": stage.name,
        "updates": training.update,
        "kept_update": training.update if selector.is_blind else memory.best_update,
        "score": None if selector.is_blind else memory.best_score,
        "selector": selector.name,
        "evaluations": memory.evaluations,
        "seconds": round(time.monotonic() - started, 3),
        EARLIER: round(earlier, 3),
    }
    engine.free_memory()  # it would keep this stage's optimizer otherwise
    if folder is not None and engine.is_main_process:
        _save_finished(trained, folder, summary)
    engine.wait_for_everyone()
    return summary


def _agreed(score: float, engine: Accelerator) -> float:
    """The first process decides for all: a difference in the last digit would let one stop and the others wait."""
    if engine.num_processes == 1:
        return score
    shared: list[float] = broadcast_object_list([score])
    return shared[0]


def _snapshot(learner: Learner) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().clone() for name, tensor in learner.state_dict().items()}


def _readable(progress: Progress) -> dict[str, float]:
    losses = {name: float(loss) for name, loss in progress.losses.items()}
    for name, loss in losses.items():
        if not math.isfinite(loss):
            raise Diverged(
                f"Stage {progress.stage}, update {progress.update}: the loss {name!r} is {loss}. "
                "Try a lower training.learning_rate, a smaller training.clip, or training.precision=no."
            )
    return losses


def _save_finished(learner: Learner, folder: Path, summary: Mapping[str, Any]) -> None:
    with atomic_folder(folder / "finished") as aside:
        write_tensors(aside / _WEIGHTS, learner.state_dict())
        write_json(aside / "summary.json", dict(summary))
    for checkpoint in folder.glob("checkpoint-*"):
        shutil.rmtree(checkpoint, ignore_errors=True)


def _write_notes(stage: Stage, update: int, record: Record) -> None:
    for objective in stage.objectives.values():
        notes = objective.notes()
        if notes is not None:
            record.add(notes["kind"], stage.name, update, **{key: notes[key] for key in notes if key != "kind"})


def _write_watches(stage: Stage, trained: Learner, update: int, record: Record) -> None:
    for watch in stage.watches:
        record.add(watch.kind, stage.name, update, **watch(trained))


def _load_finished(learner: Learner, folder: Path | None, watcher: Watcher) -> dict[str, Any] | None:
    if folder is None or not (folder / "finished").is_dir():
        return None
    try:
        verify(folder / "finished")
    except StorageError as damage:
        watcher.warned(f"{damage} This stage is trained again.")
        return None
    learner.load_state_dict(read_tensors(folder / "finished" / _WEIGHTS))
    summary: dict[str, Any] = read_json(folder / "finished" / "summary.json")
    return summary
