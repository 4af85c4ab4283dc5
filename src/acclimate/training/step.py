"""The whole step as one module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from acclimate.data.batches import SOURCE, TARGET, Batch
from acclimate.methods.objective import Objective
from acclimate.model.encoders.recorded_passes import RecordedPasses
from acclimate.model.learner import Learner
from acclimate.model.narrowed import NarrowedWeights
from acclimate.model.view import NoView, keep_company


class TrainingStep(nn.Module):
    """The learner and every term of its loss as one module: one forward call is the whole step.

    So data parallelism, mixed precision and checkpoints see every parameter, and no objective has to know of them.
    """

    def __init__(self, learner: Learner, objectives: Mapping[str, Objective]) -> None:
        super().__init__()
        self.learner, self.objectives = learner, nn.ModuleDict(dict(objectives))
        self.narrowed: NarrowedWeights | None = None
        self.passes: Sequence[RecordedPasses] = ()
        self.reads_both = False  # whether the objectives have asked for both domains' features in the last step

    def narrow_at_once(self) -> None:
        """Where autocast is on, the weights of pre-trained encoders are narrowed together (`model/narrowed.py`)."""
        self.narrowed = NarrowedWeights(self.learner)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        for passes in self.passes:
            passes.release()
        with self._narrow():
            source, target = self._view(batch, SOURCE), self._view(batch, TARGET)
            two = self.passes and SOURCE in batch and TARGET in batch
            if two and self.reads_both:
                keep_company(source, target)
            found = {name: objective(source, target) for name, objective in self.objectives.items()}
            if two:
                self.reads_both = source.was_read and target.was_read
                source.company = target.company = None
            return found

    def _narrow(self) -> AbstractContextManager[None]:
        kind = next(self.learner.parameters()).device.type
        if self.narrowed is None or not torch.is_autocast_enabled(kind):
            return nullcontext()
        return self.narrowed(torch.get_autocast_dtype(kind))

    def scale_losses(self, scale: float) -> None:
        """Tell every objective by what losses are multiplied on their way back."""
        for module in self.objectives.modules():
            if isinstance(module, Objective):
                module.loss_scale = scale

    def before_update(self, update: int) -> None:
        for objective in self.objectives.values():
            assert isinstance(objective, Objective)
            objective.before_update(update)

    def after_update(self) -> None:
        for objective in self.objectives.values():
            assert isinstance(objective, Objective)
            objective.after_update(self.learner)

    def _view(self, batch: Batch, domain: str) -> Any:
        return self.learner.view(batch[domain], domain) if domain in batch else NoView(domain)
