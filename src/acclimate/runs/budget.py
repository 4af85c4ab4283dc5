"""A run that is to take so many minutes: what is made shorter, and by how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acclimate.evaluation.table import duration
from acclimate.recipes.recipe import TUNING_STAGE
from acclimate.training.rehearsal import Cost

LEAST = 0.05  # of a stage's updates: less would teach nothing, whatever the budget says


@dataclass(frozen=True)
class Budget:
    """The shares of their updates that are made: of domain tuning, and of all other stages, the baseline's too."""

    tuning: float = 1.0
    others: float = 1.0

    @classmethod
    def of(cls, cost: Cost, seconds: float) -> Budget:
        """Domain tuning is shortened first, since most of its gain comes early. Only when a tenth of it is left is
        everything else shortened, the baseline by as much as the recipe, or the comparison would not be fair."""
        tuning = sum(each for name, _, each in cost.stages if name == TUNING_STAGE)
        others = sum(each for name, _, each in cost.stages if name != TUNING_STAGE)
        left = seconds - (cost.seconds - tuning - others)  # between the stages nothing can be saved
        if tuning + others <= left:
            return cls()
        tuned = min(1.0, max(0.1, (left - others) / tuning)) if tuning else 1.0
        return cls(tuned, min(1.0, max(LEAST, (left - tuned * tuning) / others)) if others else 1.0)

    def share(self, stage: str) -> float:
        return self.tuning if stage == TUNING_STAGE else self.others

    def cut(self, cost: Cost) -> Cost:
        """What is left of a cost."""
        stages = tuple(
            (name, max(1, round(self.share(name) * updates)), self.share(name) * seconds)
            for name, updates, seconds in cost.stages
        )
        saved = sum(seconds for *_, seconds in cost.stages) - sum(seconds for *_, seconds in stages)
        return Cost(cost.seconds - saved, sum(updates for _, updates, _ in stages), stages)

    def told(self, minutes: float, cost: Cost) -> str:
        """What became of the run, for people."""
        if self == Budget():
            return f"All of it fits into {minutes:g} min."
        cuts = [f"domain tuning to {self.tuning:.0%} of its updates"] if self.tuning < 1 else []
        cuts += [f"all other stages to {self.others:.0%}"] if self.others < 1 else []
        told = f"For {minutes:g} min, shortened: {', '.join(cuts)}."
        short = self.cut(cost).seconds
        if short > 60 * minutes * 1.05:
            told += f" It will take longer all the same, about {duration(short)}: less would teach nothing."
        return told

    def as_dict(self) -> dict[str, float]:
        return {"tuning": self.tuning, "others": self.others}

    @classmethod
    def from_dict(cls, values: Mapping[str, float]) -> Budget:
        return cls(**values)
