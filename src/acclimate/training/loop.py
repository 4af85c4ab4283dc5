"""The engine (Accelerate, set up for one run), the optimizer, and the loop, written once: it trains any stage."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState, PartialState
from torch import Tensor, nn

from acclimate.model.cuda_graphs.training_graphs import TrainingGraphs
from acclimate.model.encoders.encoder import Acceleration
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import Learner
from acclimate.model.tagger import Tagger
from acclimate.settings import UsageError
from acclimate.training.muon import Muon
from acclimate.training.settings import LoopSettings, TrainingSettings, default_learning_rate, default_multiples
from acclimate.training.stage import Stage, TrainingStep


def build_engine(settings: LoopSettings, learner: Learner) -> Accelerator:
    """An engine for this learner. Accelerate keeps one state per process, which is reset."""
    require_device(settings)
    on_cpu = device_for(settings) == "cpu"
    precision = settings.precision
    if precision == "auto":
        precision = "bf16" if isinstance(learner.encoder, Transformer) and not on_cpu else "no"
    # cuDNN's attention plans for a tenth of a second at every new shape
    torch.backends.cuda.enable_cudnn_sdp(False)
    if torch.distributed.is_available() and not torch.distributed.is_initialized():
        AcceleratorState._reset_state(reset_partial_state=True)
    return Accelerator(
        cpu=on_cpu,
        mixed_precision=precision,
        gradient_accumulation_steps=settings.accumulate,
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
    )


def require_device(settings: LoopSettings) -> None:
    """Refuse a device that is not there."""
    if settings.device == "cuda" and not torch.cuda.is_available():
        raise UsageError("training.device is cuda, but torch sees no CUDA device here. Use auto or cpu.")


def device_for(settings: LoopSettings) -> Literal["cpu", "cuda"]:
    """The device of these settings."""
    return "cpu" if settings.device == "cpu" or not torch.cuda.is_available() else "cuda"


@contextmanager
def main_process_first() -> Iterator[None]:
    """The first process goes first; the others find its files."""
    with PartialState(cpu=not torch.cuda.is_available()).main_process_first():
        yield


def is_main_process() -> bool:
    """Whether this is the first process (RANK 0)."""
    return int(os.environ.get("RANK", "0")) == 0


def parameter_groups(step: TrainingStep) -> list[list[nn.Parameter]]:
    """Trained parameters in groups that are clipped together: the learner's first, then each separate one."""
    separate = [group for _, group in _separate(step)]
    others = {id(parameter) for group in separate for parameter in group}
    rest = [parameter for parameter in step.parameters() if id(parameter) not in others]
    return [[parameter for parameter in group if parameter.requires_grad] for group in (rest, *separate)]


def _separate(step: TrainingStep) -> list[tuple[Any, list[nn.Parameter]]]:
    """Each group of separate parameters with its objective."""
    objectives: Iterable[Any] = step.objectives.values()
    return [(objective, group) for objective in objectives for group in objective.separate_parameters()]


def _rates(step: nn.Module, settings: LoopSettings) -> dict[int, float]:
    """The learning rate of each parameter whose rate differs, as a multiple of the learner's."""
    if not isinstance(step, TrainingStep):
        return {}
    separate = {
        id(parameter): objective.rate
        for objective, group in _separate(step)
        for parameter in group
        if parameter.requires_grad
    }
    if not isinstance(settings, TrainingSettings):
        return separate
    usual = default_multiples(settings, step.learner)
    head = settings.head_rate or usual["head_rate"]
    transitions = settings.transition_rate or usual["transition_rate"]
    rates: dict[int, float] = {}
    for tagger in (module for module in step.learner.modules() if isinstance(module, Tagger)):
        layers: list[nn.Module] = [tagger.scores] if tagger.types is None else [tagger.scores, tagger.types]
        layers += [] if tagger.source_heads is None else [tagger.source_heads]
        rates |= {id(parameter): head for layer in layers for parameter in layer.parameters()}
        rates |= {id(parameter): transitions for parameter in tagger.head.parameters()}
    return rates | separate


def build_optimizer(step: nn.Module, settings: LoopSettings, rate: float) -> torch.optim.Optimizer:
    """Weight decay applies to matrices only, not to tables, biases and norms."""
    embeddings = (module for module in step.modules() if isinstance(module, nn.Embedding))
    tables = {id(weight) for table in embeddings for weight in table.parameters()}
    matrices: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for parameter in step.parameters():
        if parameter.requires_grad:
            (matrices if parameter.ndim > 1 and id(parameter) not in tables else others).append(parameter)
    rates = _rates(step, settings)
    groups: list[dict[str, Any]] = [
        {
            "params": [parameter for parameter in kind if rates.get(id(parameter), 1.0) == times],
            "weight_decay": decay,
            "times": times,
        }
        for kind, decay in ((matrices, settings.shrinking), (others, 0.0))
        for times in sorted({1.0, *rates.values()})
    ]
    if settings.optimizer == "muon":
        if any(times != 1 for times in rates.values()):
            raise UsageError("With training.optimizer=muon all parts learn at one rate: take adamw.")
        compiled = bool(getattr(settings, "compile", False))
        return Muon(matrices, others, rate, settings.betas, settings.shrinking, compiled)
    groups = [group for group in groups if group["params"]]
    if settings.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=rate, momentum=settings.momentum)
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=rate, betas=settings.betas, fused=True)
    return torch.optim.Adam(groups, lr=rate, betas=settings.betas, fused=True)


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
                        engine.clip_grad_norm_(self.parameter_groups[0], stage.settings.clip)
                        for group in self.parameter_groups[1:]:  # the engine undoes the loss's scale only once
                            nn.utils.clip_grad_norm_(group, stage.settings.clip)
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
