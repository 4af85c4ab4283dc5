"""A stage: what to make small, on which batches, for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from torch import Tensor

from acclimate.data.batches import Stream
from acclimate.methods.objective import Objective
from acclimate.model.learner import Learner
from acclimate.training.schedules import Schedule
from acclimate.training.selectors import Selector
from acclimate.training.settings import LoopSettings, TrainingSettings


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
    watches: tuple[Watch, ...] = ()  # asked at every look, for the record
    selector: Selector | None = None  # chooses the state to keep, where the run's own would look at the wrong thing

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
        """The same with so much of its updates, and looks that come as much sooner."""
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
