"""The loop, written once: it trains any stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from acclimate.model.acceleration import Acceleration
from acclimate.model.cuda_graphs.training_graphs import TrainingGraphs
from acclimate.model.learner import Learner
from acclimate.training.optimizers import build_optimizer, default_learning_rate, parameter_groups
from acclimate.training.settings import LoopSettings
from acclimate.training.stage import Stage, TrainingStep


@dataclass(frozen=True)
class Progress:
    """Where a stage stands after an update. Reading a loss makes the CPU wait for the GPU."""

    stage: str
    update: int
    updates: int
    losses: Mapping[str, Tensor]
    learning_rate: float
    words: int  # seen in this update; pieces where there are no words


class Training:
    """The training of one stage: each iteration makes one update. `graphs` are those of the stages before."""

    def __init__(
        self, learner: Learner, stage: Stage, engine: Accelerator, graphs: TrainingGraphs | None = None
    ) -> None:
        self.stage, self.engine, self.update = stage, engine, 0
        learner.to(engine.device)  # first: a teacher comes to where the learner is
        for objective in stage.objectives.values():
            objective.begin(learner)
        acceleration = acceleration_for(stage.settings, engine, graphs)
        step = TrainingStep(learner, stage.objectives, acceleration).to(engine.device).train()
        self.bare_step = step  # without what the engine wraps around it
        self.rate = stage.settings.learning_rate or default_learning_rate(learner)
        self.parameter_groups = parameter_groups(step)
        optimizer = build_optimizer(step, stage.settings, self.rate)
        self.step, self.optimizer = engine.prepare(step, optimizer)
        self.schedule = stage.schedule()
        engine.gradient_accumulation_steps = stage.settings.accumulate  # a recipe may set it stage by stage

    def __iter__(self) -> Iterator[Progress]:
        engine, stage = self.engine, self.stage
        accumulate, processes = stage.settings.accumulate, engine.num_processes
        batches = stage.batches.starting_at(self.update * accumulate * processes + engine.process_index, processes)
        while self.update < stage.updates:
            rate = self.rate * self.schedule(self.update)
            for group in self.optimizer.param_groups:
                group["lr"] = rate * group.get("times", 1.0)
            losses: dict[str, Tensor] = {}
            words = 0
            if engine.scaler is not None:
                self.bare_step.scale_losses(engine.scaler.get_scale())
            self.bare_step.before_update(self.update)
            for _ in range(accumulate):
                batch = next(batches)
                words += stage.batches.size(batch)
                with engine.accumulate(self.step):
                    terms = self.step(batch)
                    engine.backward(stage.total(terms, self.update))
                    if engine.sync_gradients and stage.settings.clip is not None:
                        self._clip(stage.settings.clip)
                    self._move()
                for name, loss in terms.items():
                    losses[name] = losses.get(name, 0) + loss.detach() / accumulate
            self.update += 1
            self.bare_step.after_update()
            yield Progress(stage.name, self.update, stage.updates, losses, rate, words * processes)

    def _move(self) -> None:
        if self.engine.scaler is not None:
            self.optimizer.step()
        elif self.engine.sync_gradients:
            self.optimizer.optimizer.step()  # the engine's own wrapper is slow
        self.optimizer.zero_grad()

    def _clip(self, most: float) -> None:
        self.engine.clip_grad_norm_(self.parameter_groups[0], most)
        for group in self.parameter_groups[1:]:
            nn.utils.clip_grad_norm_(group, most)  # the engine would refuse to undo the loss's scale twice


def acceleration_for(settings: LoopSettings, engine: Accelerator, graphs: TrainingGraphs | None = None) -> Acceleration:
    """CUDA graphs on one GPU, unless the step is compiled, or accumulated batches would overwrite their gradients."""
    is_compiled = bool(getattr(settings, "compile", False))
    is_one_gpu = engine.device.type == "cuda" and engine.num_processes == 1
    if not is_one_gpu or is_compiled or not settings.cuda_graphs or settings.accumulate > 1:
        return Acceleration()
    return TrainingGraphs() if graphs is None else graphs


@contextmanager
def under_way(
    learner: Learner, stage: Stage, engine: Accelerator, graphs: TrainingGraphs | None = None
) -> Iterator[Training]:
    """A training whose objectives undo what they did to the learner, however it ends. Who hands in `graphs` gives their
    memory back."""
    training = None
    try:
        training = Training(learner, stage, engine, graphs)
        yield training
    finally:
        for objective in stage.objectives.values():
            objective.end(learner)
        if training is not None:
            training.bare_step.acceleration.end_stage(learner)
        if graphs is None:
            give_back_memory(engine)


def give_back_memory(engine: Accelerator) -> None:
    """Return the memory of graphs to the GPU."""
    if engine.device.type == "cuda":
        torch.cuda.empty_cache()
