"""The whole step as one module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from acclimate.data.batches import SOURCE, TARGET, Batch
from acclimate.methods.objective import Objective
from acclimate.model.acceleration import Acceleration
from acclimate.model.learner import Learner
from acclimate.model.view import NoView


class TrainingStep(nn.Module):
    """The learner and every term of its loss as one module: one forward call is the whole step.

    So data parallelism, mixed precision and checkpoints see every parameter, and no objective has to know of them.
    """

    def __init__(
        self, learner: Learner, objectives: Mapping[str, Objective], acceleration: Acceleration | None = None
    ) -> None:
        super().__init__()
        self.learner, self.objectives = learner, nn.ModuleDict(dict(objectives))
        self.acceleration = acceleration or Acceleration()

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        with self.acceleration.step():
            source, target = self._view(batch, SOURCE), self._view(batch, TARGET)
            return {name: objective(source, target) for name, objective in self.objectives.items()}

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
