"""How a stage is trained: its settings, their defaults for a learner, and the schedules that they name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import Learner
from acclimate.settings import Settings

Schedule = Callable[[int], float]


def ganin_ramp(updates: int) -> Schedule:
    """2 / (1 + exp(-10 p)) - 1 for a share p of the updates, from 0 to nearly 1 (Ganin et al. 2016)."""
    return lambda update: 2 / (1 + math.exp(-10 * min(1.0, update / max(1, updates)))) - 1


Share = Annotated[float, Field(ge=0, lt=1)]
Decay = Literal["none", "linear", "cosine", "inverse", "exponential"]


class LoopSettings(Settings):
    """How anything is trained: optimizer, evaluations, checkpoints."""

    epochs: float | None = Field(None, gt=0)
    """Number of passes over the source; null: 20 for the LSTM tagger, 5 for a pre-trained encoder."""
    updates: int | None = Field(None, ge=1)
    """Number of optimizer updates, in place of epochs; null: use epochs."""
    accumulate: int = Field(1, ge=1)
    """Number of batches whose gradients are accumulated for each update."""
    optimizer: Literal["adamw", "adam", "sgd", "muon"] = "adamw"
    """Optimizer: adamw, adam, sgd or muon."""
    learning_rate: float | None = Field(None, gt=0)
    """Learning rate; null: 0.003 for the LSTM tagger, 0.0003 or less for a pre-trained encoder."""
    weight_decay: float | None = Field(None, ge=0)
    """Weight decay on matrices, not on embeddings, biases or norms; null: 0.01 for adamw and muon, else 0."""
    momentum: float = Field(0.9, ge=0, lt=1)
    """Momentum; used by sgd only."""
    betas: tuple[Share, Share] = (0.9, 0.999)
    """Beta coefficients of adam, adamw and muon."""
    warm_up: float = Field(0.05, ge=0)
    """Warm-up of the learning rate: a share of all updates if below 1, else a number of updates; 0: none."""
    decay: Decay = "linear"
    """Learning-rate decay after the warm-up: none, linear, cosine, inverse or exponential."""
    decay_rate: float | None = Field(None, ge=0)
    """Decay rate per epoch; null: 0.05 for inverse (1, 1/1.05, 1/1.1 …), 0.992 for exponential (1, 0.992, …)."""
    clip: float | None = Field(5.0, gt=0)
    """Maximum norm of the gradient; null: no clipping."""
    precision: Literal["auto", "no", "bf16", "fp16"] = "auto"
    """Floating-point precision; auto: bf16 for a pre-trained encoder on a GPU, full precision otherwise."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device to train on; auto: a GPU if there is one."""
    cuda_graphs: bool = True
    """On a single GPU, run a small pre-trained encoder as CUDA graphs: faster, but needs more memory."""
    evaluate_every: int | None = Field(None, ge=1)
    """Number of updates between evaluations by the selector; null: one evaluation per epoch."""
    patience: int | None = Field(None, ge=1)
    """Stop after this many evaluations without a better score, once one is above 0; null: never stop early."""
    checkpoint_every: int | None = Field(None, ge=1)
    """Number of updates between checkpoints; null: about one checkpoint per minute."""
    tensorboard: bool = False
    """Also log to TensorBoard."""

    @property
    def shrinking(self) -> float:
        """The weight decay."""
        usual = 0.01 if self.optimizer in ("adamw", "muon") else 0.0
        return usual if self.weight_decay is None else self.weight_decay

    def updates_per_epoch(self, epoch_length: int) -> float:
        """Batches of an epoch → updates."""
        processes = int(os.environ.get("WORLD_SIZE", "1"))  # set by torchrun and `accelerate launch`
        return epoch_length / (self.accumulate * processes)

    def updates_for(self, epoch_length: int) -> int:
        """Batches of an epoch → number of updates in all."""
        epochs = 20 if self.epochs is None else self.epochs
        return self.updates or max(1, round(epochs * self.updates_per_epoch(epoch_length)))

    def schedule(self, updates: int, epoch_length: int) -> Schedule:
        """The learning rate's factor as a function of the update number: a linear warm-up to 1, then the decay."""
        first = round(self.warm_up * updates) if self.warm_up < 1 else round(self.warm_up)
        rest, period = max(1, updates - first), max(1, round(self.updates_per_epoch(epoch_length)))
        rate = {"inverse": 0.05, "exponential": 0.992}.get(self.decay, 0.0)  # DATNet's and MAT's
        rate = rate if self.decay_rate is None else self.decay_rate
        decays: dict[Decay, Schedule] = {
            "none": lambda update: 1.0,
            "linear": lambda update: max(0.0, 1 - update / rest),
            "cosine": lambda update: 0.5 * (1 + math.cos(math.pi * min(1.0, update / rest))),
            "inverse": lambda update: 1 / (1 + rate * (update // period)),
            "exponential": lambda update: float(rate ** (update // period)),
        }
        decay = decays[self.decay]
        return lambda update: (update + 1) / (first + 1) if update < first else decay(update - first)


class TrainingSettings(LoopSettings):
    """How a tagger is trained. Every recipe takes these."""

    head_rate: float | None = Field(None, gt=0)
    """Learning rate of the output layer, as a factor of the run's; null: 30 on a pre-trained encoder, 1 on the LSTM."""
    transition_rate: float | None = Field(None, gt=0)
    """Learning rate of the CRF transitions, as a factor of the run's; null: 100 (pre-trained encoder) or 1 (LSTM)."""
    words_per_batch: int = Field(256, ge=1)
    """Maximum number of words per batch."""
    sentences_per_batch: int | None = Field(None, ge=1)
    """Maximum number of sentences per batch; null: limited by words_per_batch only."""


class PretrainingSettings(LoopSettings):
    """How an encoder is pre-trained."""

    epochs: float | None = Field(20, gt=0)
    """Number of passes over the text, if updates is not set; null: 20."""
    rows_per_batch: int = Field(128, ge=1)
    """Number of input rows per batch; each row holds one sequence of word pieces."""
    optimizer: Literal["adamw", "adam", "sgd", "muon"] = "muon"
    """Optimizer: adamw, adam, sgd or muon."""
    learning_rate: float | None = Field(1.5e-3, gt=0)
    """Learning rate."""
    betas: tuple[Share, Share] = (0.9, 0.98)
    """Beta coefficients of adam, adamw and muon."""
    clip: float | None = Field(1.0, gt=0)
    """Maximum norm of the gradient; null: no clipping."""
    compile: bool | None = None
    """Compile the model with torch.compile: slow to start, then faster on a GPU; null: only if there is a GPU."""


Kind = TypeVar("Kind", bound=LoopSettings)


def completed(settings: Kind, learner: Learner) -> Kind:
    """The settings with the defaults that depend on the learner."""
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
    """How much faster the heads learn than the encoder (docs/explanation/results/head-rates.md)."""
    faster = isinstance(learner.encoder, Transformer) and settings.optimizer in ("adamw", "adam")
    return {"head_rate": 30.0, "transition_rate": 100.0} if faster else {"head_rate": 1.0, "transition_rate": 1.0}
