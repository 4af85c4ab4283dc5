"""Run the stages of a recipe: resume what is half done, skip what is done, keep the best of each."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

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
from acclimate.training.progress_bar import Watcher as Watcher
from acclimate.training.record import Record, load_checkpoint, save_checkpoint
from acclimate.training.stage import Selector, Stage

_WEIGHTS = "learner.safetensors"
Nobody = Watcher  # shows nothing
EARLIER = "seconds_earlier"  # in a stage's summary: those of its seconds that were spent before it was resumed
_LOG_EVERY = 10  # updates


class Diverged(RuntimeError):
    """A loss that is not a number."""


@dataclass
class BestState:
    """Which state was best so far, and all evaluations; saved with every checkpoint."""

    best_score: float | None = None
    best_update: int = 0
    improved_update: int = 0
    evaluations: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0

    def judge(self, update: int, score: float) -> bool:
        """Whether this state is the one to keep: of equal ones the later, and none whose score is not a number."""
        self.evaluations.append((update, score))
        if not math.isfinite(score):
            return False
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
        """Whether the last `patience` evaluations all failed to beat the best one, which must lie above `lowest`."""
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
    graphs = TrainingGraphs() if engine.device.type == "cuda" else None
    try:
        for stage in _seeded(stages, seed):
            place = None if folder is None else folder / f"{len(summaries):02d}-{stage.name}"
            summary = _load_finished(stage.learner or learner, place, watcher)
            if summary is not None:
                score = summary["score"]
                text = "" if score is None else (stage.selector or selector).describe(score)
                watcher.skip(stage.name, summary["updates"], text)
                summary[EARLIER] = summary["seconds"]
            else:
                with under_way(stage.learner or learner, stage, engine, graphs) as training:
                    summary = _StageRun(learner, training, stage.selector or selector, place, watcher, record).run()
            summaries.append(summary)
    finally:
        if graphs is not None:
            graphs.forget()
        give_back_memory(engine)
    return summaries


def first_seed(seed: int) -> int:
    """The seed of a run's first stage."""
    return seed * 1_000


def _seeded(stages: Iterable[Stage], seed: int) -> Iterator[Stage]:
    """Seed each stage by its number before the recipe makes it, so that skipping earlier ones changes nothing."""
    waiting = iter(stages)
    for number in count():
        torch.manual_seed(first_seed(seed) + number)
        stage = next(waiting, None)
        if stage is None:
            return
        yield stage


@dataclass
class _StageRun:
    """One stage: training, evaluations, the best state, the record and checkpoints."""

    learner: Learner
    training: Training
    selector: Selector
    folder: Path | None
    watcher: Watcher
    record: Record

    def __post_init__(self) -> None:
        self.stage, self.engine = self.training.stage, self.training.engine
        self.trained = self.stage.learner or self.learner
        self.memory, self.best = BestState(), dict[str, Tensor]()

    def run(self) -> dict[str, Any]:
        stage, training, memory, engine = self.stage, self.training, self.memory, self.engine
        if engine.num_processes > 1:  # or every process would draw the same dropout
            torch.manual_seed(torch.initial_seed() + 1_000_003 * engine.process_index)
        resumed = self._resume()
        self.watcher.begin(stage.name, training.update, stage.updates)
        earlier = memory.seconds
        started = time.monotonic() - earlier
        if stage.selector is not None and not self.selector.is_blind and not resumed:
            self._evaluate(0)  # a stage that only makes things worse leaves everything as it is
        schedule = CheckpointSchedule(stage.settings.checkpoint_every)
        for progress in training:
            last = progress.update == stage.updates
            evaluates = last or progress.update % stage.evaluate_every == 0
            losses = _readable(progress) if evaluates or progress.update % _LOG_EVERY == 0 else None
            self.watcher.advance(progress, losses)
            if losses is not None:
                self._write_losses(progress, losses)
            if evaluates:
                self._evaluate(progress.update)
                if not self.selector.is_blind and memory.out_of_patience(stage.settings.patience, self.selector.lowest):
                    break
            if self.folder is not None and engine.is_main_process and not last and schedule.is_due(progress.update):
                memory.seconds = time.monotonic() - started
                with schedule.saving():
                    save_checkpoint(self.folder, training, vars(memory), self.best)
        if self.best:
            self.trained.load_state_dict(self.best)
        self.watcher.end(stage.name)
        summary = self._summary(time.monotonic() - started, earlier)
        engine.free_memory()  # it would keep this stage's optimizer otherwise
        if self.folder is not None and engine.is_main_process:
            _save_finished(self.trained, self.folder, summary)
        engine.wait_for_everyone()
        return summary

    def _resume(self) -> bool:
        """Go on from the newest checkpoint, if there is one."""
        resumed = None if self.folder is None else load_checkpoint(self.folder, self.training, self.watcher.warned)
        if resumed is not None:
            notes, self.best = resumed
            vars(self.memory).update(notes, evaluations=[(update, score) for update, score in notes["evaluations"]])
        self.record.rewind(self.stage.name, -1 if resumed is None else self.training.update)
        return resumed is not None

    def _evaluate(self, update: int) -> None:
        selector, memory, stage = self.selector, self.memory, self.stage
        score = _agreed(selector(self.learner), self.engine)
        is_kept = memory.judge(update, score) or update == 0
        if is_kept and not selector.is_blind:
            self.best = {name: tensor.detach().cpu().clone() for name, tensor in self.trained.state_dict().items()}
        is_better = update > 0 and memory.is_improved_at(update) and score > selector.lowest
        self.watcher.judged(update, selector.describe(score), is_better and not selector.is_blind)
        epoch = round(update / stage.updates_per_epoch, 3)
        self.record.add("evaluation", stage.name, update, score=score, selector=selector.name, epoch=epoch)
        for watch in stage.watches:
            self.record.add(watch.kind, stage.name, update, **watch(self.trained))

    def _write_losses(self, progress: Progress, losses: Mapping[str, float]) -> None:
        """The losses, and the notes of objectives that have some."""
        name, update = self.stage.name, progress.update
        self.record.add("update", name, update, learning_rate=progress.learning_rate, **losses)
        for objective in self.stage.objectives.values():
            notes = objective.notes()
            if notes is not None:
                self.record.add(notes["kind"], name, update, **{key: notes[key] for key in notes if key != "kind"})

    def _summary(self, seconds: float, earlier: float) -> dict[str, Any]:
        is_blind, memory = self.selector.is_blind, self.memory
        return {
            "stage": self.stage.name,
            "updates": self.training.update,
            "kept_update": self.training.update if is_blind else memory.best_update,
            "score": None if is_blind else memory.best_score,
            "selector": self.selector.name,
            "evaluations": memory.evaluations,
            "seconds": round(seconds, 3),
            EARLIER: round(earlier, 3),
        }


def _agreed(score: float, engine: Accelerator) -> float:
    """The first process's score, so that all processes stop together."""
    if engine.num_processes == 1:
        return score
    shared: list[float] = broadcast_object_list([score])
    return shared[0]


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
