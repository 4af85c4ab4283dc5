"""A stage: what to make small, on which batches, for how long; and its whole step as one module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from torch import Tensor, nn

from acclimate.data.batches import SOURCE, TARGET, Batch, Stream
from acclimate.methods.objective import Objective
from acclimate.model.acceleration import Acceleration
from acclimate.model.learner import Learner, NoView
from acclimate.training.selectors import Selector
from acclimate.training.settings import LoopSettings, Schedule, TrainingSettings


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


class Watch(Protocol):
    """Something to write down along training: numbers, or what JSON can hold, under its kind."""

    @property
    def kind(self) -> str: ...

    def __call__(self, learner: Any, /) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Stage:
    """A named dictionary of objectives with weights, batches, and a number of updates.

    A weight is a number or a schedule; one that is not given is 1.
    """

    name: str
    objectives: Mapping[str, Objective]
    batches: Stream
    settings: LoopSettings = field(default_factory=TrainingSettings)
    weights: Mapping[str, float | Schedule] = field(default_factory=dict)
    learner: Learner | None = None  # what is trained, where it is more than the tagger: the tagger is a part of it
    watches: tuple[Watch, ...] = ()  # asked at every evaluation, for the record
    selector: Selector | None = None  # chooses the state to keep, where the run's own would choose by the wrong thing

    def __post_init__(self) -> None:
        unknown = set(self.weights) - set(self.objectives)
        if unknown or not self.objectives:
            known = ", ".join(self.objectives) or "none"
            raise ValueError(f"Stage {self.name}: weights for {sorted(unknown)}, but its objectives are: {known}.")

    @property
    def updates(self) -> int:
        return self.settings.updates_for(self.batches.epoch_length)

    @property
    def updates_per_epoch(self) -> float:
        return self.settings.updates_per_epoch(self.batches.epoch_length)

    @property
    def evaluate_every(self) -> int:
        return self.settings.evaluate_every or max(1, round(self.updates_per_epoch))

    def shortened(self, share: float) -> Stage:
        """The same with so much of its updates, and evaluations that come as much sooner."""
        if share == 1:
            return self
        less = {name: max(1, round(share * getattr(self, name))) for name in ("updates", "evaluate_every")}
        return replace(self, settings=self.settings.model_copy(update=less))

    def schedule(self) -> Schedule:
        return self.settings.schedule(self.updates, self.batches.epoch_length)

    def total(self, losses: Mapping[str, Tensor], update: int) -> Tensor:
        """The weighted sum that is differentiated. A term of weight 0 is left out altogether."""
        terms = []
        for name, loss in losses.items():
            weight = self.weights.get(name, 1.0)
            value = weight(update) if callable(weight) else weight
            if value != 0:
                terms.append(value * loss)
        if not terms:
            raise ValueError(f"Stage {self.name}: every objective has weight 0 at update {update}.")
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total
