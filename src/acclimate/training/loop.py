"""The loop, written once: it trains any stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from acclimate.model.acceleration import Acceleration
from acclimate.model.cuda_graphs.cast_weights import CastOnce
from acclimate.model.cuda_graphs.training_graphs import TrainingGraphs
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import Learner
from acclimate.model.tagger import Tagger
from acclimate.settings import UsageError
from acclimate.training.optimizers import FusedAdamW, Muon, clip
from acclimate.training.settings import LoopSettings, TrainingSettings
from acclimate.training.stage import Stage, TrainingStep


@dataclass(frozen=True)
class Progress:
    """Where a stage stands after an update. Reading a loss makes the CPU wait for the GPU: do it now and then."""

    stage: str
    update: int
    updates: int
    losses: Mapping[str, Tensor]
    learning_rate: float
    words: int  # seen in this update; pieces where there are no words


class Training:
    """One stage under way. Iterating makes one update at a time; whoever iterates decides to log, save or stop."""

    def __init__(
        self, learner: Learner, stage: Stage, engine: Accelerator, graphs: TrainingGraphs | None = None
    ) -> None:
        """`graphs` are those of the stages before."""
        self.stage, self.engine, self.update = stage, engine, 0
        learner.to(engine.device)  # first: a teacher comes to where the learner is
        for objective in stage.objectives.values():
            objective.begin(learner)
        acceleration = acceleration_for(learner, stage.settings, engine, graphs)
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
                    found = self.step(batch)
                    engine.backward(stage.total(found, self.update))
                    if engine.sync_gradients and stage.settings.clip is not None:
                        self._clip(stage.settings.clip)
                    self._move()
                for name, loss in found.items():
                    losses[name] = losses.get(name, 0) + loss.detach() / accumulate
            self.update += 1
            self.bare_step.after_update()
            yield Progress(stage.name, self.update, stage.updates, losses, rate, words * processes)

    def _move(self) -> None:
        if self.engine.scaler is not None:
            self.optimizer.step()
        elif self.engine.sync_gradients:
            # not through the engine's cover, which looks for an optional package on disk at every step
            self.optimizer.optimizer.step()
        self.optimizer.zero_grad()

    def _clip(self, most: float) -> None:
        """The learner and what belongs to it together, every other player alone."""
        if self.engine.scaler is None and self.engine.num_processes == 1:
            for player in self.parameter_groups:
                clip(player, most)
            return
        self.engine.clip_grad_norm_(self.parameter_groups[0], most)
        for player in self.parameter_groups[1:]:
            # the engine has undone the loss's scale by now, and would refuse to do it twice
            nn.utils.clip_grad_norm_(player, most)


def acceleration_for(
    learner: Learner, settings: LoopSettings, engine: Accelerator, graphs: TrainingGraphs | None = None
) -> Acceleration:
    """What makes a step quicker on one GPU. Several GPUs exchange gradients as they come, and a compiled step has no
    small kernels to save."""
    compiled = bool(getattr(settings, "compile", False))
    if engine.device.type != "cuda" or engine.num_processes != 1 or compiled:
        return Acceleration()
    # graphs write gradients to the same place every time: a second batch would write over those of the first
    if settings.cuda_graphs and settings.accumulate == 1:
        return TrainingGraphs() if graphs is None else graphs
    return CastOnce(learner)


@contextmanager
def under_way(
    learner: Learner, stage: Stage, engine: Accelerator, graphs: TrainingGraphs | None = None
) -> Iterator[Training]:
    """A training whose objectives undo what they did to the learner however it ends: who stops it with Ctrl-C may go on
    with the same tagger. `graphs` are those of the stages before; who hands them in gives their memory back."""
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
    """Nothing else is ever put where graphs were, unless it is given back."""
    if engine.device.type == "cuda":
        torch.cuda.empty_cache()


def parameter_groups(step: TrainingStep) -> list[list[nn.Parameter]]:
    """All that is trained, in groups that are clipped together: first the learner's, then each player's that has an aim
    of its own."""
    apart = [group for objective in step.objectives.values() for group in objective.separate_parameters()]  # type: ignore[operator]
    others = {id(parameter) for group in apart for parameter in group}
    rest = [parameter for parameter in step.parameters() if id(parameter) not in others]
    return [[parameter for parameter in group if parameter.requires_grad] for group in (rest, *apart)]


Kind = TypeVar("Kind", bound=LoopSettings)


def completed(settings: Kind, learner: Learner) -> Kind:
    """The settings with what depends on the learner filled in: pre-trained weights need fewer passes than random ones,
    and are moved with more care, large ones with the most."""
    pre_trained = isinstance(learner.encoder, Transformer)
    usual = {"epochs": 5.0 if pre_trained else 20.0, "learning_rate": default_learning_rate(learner)}
    if isinstance(settings, TrainingSettings):
        usual |= default_multiples(settings, learner)
    return settings.model_copy(update={name: value for name, value in usual.items() if getattr(settings, name) is None})


def default_learning_rate(learner: Learner) -> float:
    if not isinstance(learner.encoder, Transformer):
        return 3e-3
    return 5e-5 if learner.encoder.state_width >= 512 else 3e-4


def default_multiples(settings: LoopSettings, learner: Learner) -> dict[str, float]:
    """How much faster the heads learn than the encoder (docs/explanation/results/head-rates.md). Muon has
    one rate for all, and SGD's steps grow with the gradient, which is large at the heads as it is."""
    faster = isinstance(learner.encoder, Transformer) and settings.optimizer in ("adamw", "adam")
    return {"head_rate": 30.0, "transition_rate": 100.0} if faster else {"head_rate": 1.0, "transition_rate": 1.0}


def _rates(step: nn.Module, settings: LoopSettings) -> dict[int, float]:
    """The learning rate of each parameter that has one of its own, as a multiple of the learner's."""
    if not isinstance(step, TrainingStep):
        return {}
    objectives: Iterable[Any] = step.objectives.values()
    separate = {
        id(parameter): objective.rate
        for objective in objectives
        for group in objective.separate_parameters()
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
        layers = [tagger.scores] if tagger.types is None else [tagger.scores, tagger.types]
        rates |= {id(parameter): head for layer in layers for parameter in layer.parameters()}
        rates |= {id(parameter): transitions for parameter in tagger.head.parameters()}
    return rates | separate


def build_optimizer(step: nn.Module, settings: LoopSettings, rate: float) -> torch.optim.Optimizer:
    """Weight decay reaches matrices only: shrinking a bias, a norm or a rare word's vector helps nobody."""
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
        return FusedAdamW(groups, lr=rate, betas=settings.betas)
    return torch.optim.Adam(groups, lr=rate, betas=settings.betas, fused=True)
