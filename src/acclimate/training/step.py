"""The whole step as one module."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from acclimate.data.batches import SOURCE, TARGET, Batch
from acclimate.methods.objective import Objective
from acclimate.model.tagger import Tagger
from acclimate.model.view import NoView, View


class TrainingStep(nn.Module):
    """The tagger and every term of its loss as one module: one forward call is the whole step.

    So data parallelism, mixed precision and checkpoints see every parameter, and no objective has to know of them.
    """

    def __init__(self, tagger: Tagger, objectives: Mapping[str, Objective]) -> None:
        super().__init__()
        self.tagger, self.objectives = tagger, nn.ModuleDict(dict(objectives))

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        source, target = self._view(batch, SOURCE), self._view(batch, TARGET)
        return {name: objective(source, target) for name, objective in self.objectives.items()}

    def after_update(self) -> None:
        for objective in self.objectives.values():
            assert isinstance(objective, Objective)
            objective.after_update(self.tagger)

    def _view(self, batch: Batch, domain: str) -> View:
        if domain not in batch:
            return NoView(domain)
        return View(self.tagger, self.tagger.number(batch[domain]).to(self.tagger.device))
