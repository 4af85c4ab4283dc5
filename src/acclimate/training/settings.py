"""How a stage is trained."""

from __future__ import annotations

import os
from typing import Annotated, Literal

from pydantic import Field

from acclimate.settings import Settings
from acclimate.training import schedules
from acclimate.training.schedules import Schedule

Share = Annotated[float, Field(ge=0, lt=1)]
Decay = Literal["none", "linear", "cosine", "inverse", "exponential"]


class LoopSettings(Settings):
    """Optimizer, and when to look, to stop and to save: what the loop needs, whatever it trains."""

    epochs: float | None = Field(None, gt=0)  # passes over the source; 20 for the LSTM tagger, 5 for an encoder
    updates: int | None = Field(None, ge=1)  # instead of epochs
    accumulate: int = Field(1, ge=1)  # batches per update
    optimizer: Literal["adamw", "adam", "sgd", "muon"] = "adamw"
    learning_rate: float | None = Field(None, gt=0)  # 0.003 for the LSTM tagger, 0.0003 or less for an encoder
    # on matrices; tables, biases and norms are left alone. 0.01 for adamw and muon; 0 for adam and sgd, where it is a
    # part of the gradient: divided by the size of that, it can keep a tagger of few sentences from learning at all
    weight_decay: float | None = Field(None, ge=0)
    momentum: float = Field(0.9, ge=0, lt=1)  # sgd only
    betas: tuple[Share, Share] = (0.9, 0.999)
    warm_up: float = Field(0.05, ge=0)  # share of all updates if below 1, else a number of updates
    decay: Decay = "linear"
    # per epoch; for inverse decay 0.05 (1, 1/1.05, 1/1.1 …), for exponential 0.992 (1, 0.992, 0.984 …)
    decay_rate: float | None = Field(None, ge=0)
    clip: float | None = Field(5.0, gt=0)  # largest norm of the gradient
    precision: Literal["auto", "no", "bf16", "fp16"] = "auto"  # auto: bf16 for a pre-trained encoder on a GPU
    device: Literal["auto", "cpu", "cuda"] = "auto"
    # on one GPU, the readings of a small pre-trained encoder are recorded and replayed: the same numbers but for
    # rounding, in less time and more memory
    replay: bool = True
    evaluate_every: int | None = Field(None, ge=1)  # updates between two looks at the selector; once per epoch
    patience: int | None = Field(None, ge=1)  # looks without a better score before stopping, from the first above 0 on
    checkpoint_every: int | None = Field(None, ge=1)  # updates between two saved states; about once a minute
    tensorboard: bool = False

    @property
    def shrinking(self) -> float:
        """The weight decay."""
        usual = 0.01 if self.optimizer in ("adamw", "muon") else 0.0
        return usual if self.weight_decay is None else self.weight_decay

    def updates_per_epoch(self, epoch_length: int) -> float:
        """Batches of an epoch → updates: every process takes `accumulate` batches for each."""
        processes = int(os.environ.get("WORLD_SIZE", "1"))  # set by torchrun and `accelerate launch`
        return epoch_length / (self.accumulate * processes)

    def updates_for(self, epoch_length: int) -> int:
        """Batches of an epoch → how many updates to make in all."""
        epochs = 20 if self.epochs is None else self.epochs
        return self.updates or max(1, round(epochs * self.updates_per_epoch(epoch_length)))

    def schedule(self, updates: int, epoch_length: int) -> Schedule:
        """The learning rate's factor as a function of the update number."""
        first = round(self.warm_up * updates) if self.warm_up < 1 else round(self.warm_up)
        period = max(1, round(self.updates_per_epoch(epoch_length)))
        decays: dict[Decay, Schedule] = {
            "none": schedules.constant(),
            "linear": schedules.linear_decay(updates - first),
            "cosine": schedules.cosine_decay(updates - first),
            "inverse": schedules.inverse_decay(0.05 if self.decay_rate is None else self.decay_rate, period),
            "exponential": schedules.exponential_decay(0.992 if self.decay_rate is None else self.decay_rate, period),
        }
        return schedules.warm_up(first, decays[self.decay])


class TrainingSettings(LoopSettings):
    """How a tagger is trained. Every recipe takes these."""

    # learning rates of what stands on the encoder, as multiples of `learning_rate`. What was drawn at random learns
    # faster than what was pre-trained; without that, a CRF ends its training near where it began
    head_rate: float | None = Field(None, gt=0)  # of the linear layer; 30 on a pre-trained encoder, 1 on the LSTM
    transition_rate: float | None = Field(None, gt=0)  # of the CRF's transitions; 100 on a pre-trained encoder, else 1
    words_per_batch: int = Field(256, ge=1)
    sentences_per_batch: int | None = Field(None, ge=1)


class PretrainingSettings(LoopSettings):
    """How an encoder is trained from nothing: long, at a high rate, with large batches."""

    epochs: float | None = Field(20, gt=0)  # passes over the text
    rows_per_batch: int = Field(128, ge=1)
    optimizer: Literal["adamw", "adam", "sgd", "muon"] = "muon"
    learning_rate: float | None = Field(1.5e-3, gt=0)
    betas: tuple[Share, Share] = (0.9, 0.98)
    clip: float | None = Field(1.0, gt=0)
    compile: bool | None = None  # the fast way on a GPU after a slow start; None: when there is a GPU
