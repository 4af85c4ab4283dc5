"""How long a run will take, and what is made shorter where it has so many minutes."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass

import torch

from acclimate.evaluation.table import duration
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import TUNING_STAGE, Recipe
from acclimate.runs.prepare import Preparation, prepare
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import Task, tagger_for
from acclimate.training.loop import build_engine
from acclimate.training.rehearsal import Cost, rehearse

LEAST = 0.05  # of a stage's updates: less would teach nothing, whatever the budget says


@dataclass(frozen=True)
class Budget:
    """The shares of their updates that are made: of domain tuning, and of all other stages, the baseline's too."""

    tuning: float = 1.0
    others: float = 1.0

    @classmethod
    def of(cls, cost: Cost, seconds: float) -> Budget:
        """Domain tuning is shortened first, to a tenth at least; then everything else, the baseline as much as the
        recipe."""
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

    def describe(self, minutes: float, cost: Cost) -> str:
        """Which stages are made shorter."""
        if self == Budget():
            return f"All of it fits into {minutes:g} min."
        cuts = [f"domain tuning to {self.tuning:.0%} of its updates"] if self.tuning < 1 else []
        cuts += [f"all other stages to {self.others:.0%}"] if self.others < 1 else []
        shortened = f"For {minutes:g} min, shortened: {', '.join(cuts)}."
        short = self.cut(cost).seconds
        if short > 60 * minutes * 1.05:
            shortened += f" It will take longer all the same, about {duration(short)}: less would teach nothing."
        return shortened


def expected_cost(task: Task, settings: RunSettings, has_baseline: bool = False) -> Cost:
    """Time a few updates of every stage; nothing is saved. `has_baseline`: the baseline is trained elsewhere."""
    torch.manual_seed(settings.seed)
    ready = prepare(tagger_for(task, settings), task, settings)  # what is refused, is refused before the trial
    tagger = ready.tagger  # which may have grown
    has_make = bool(ready.recipe.remodel(copy.deepcopy(tagger), ready.plan))
    own = _rehearsed(ready.recipe, tagger, ready)
    is_shared = ready.recipe is ready.first or (has_baseline and not (ready.for_target or has_make))
    return own if is_shared else _rehearsed(ready.first, tagger, ready) + own


def _rehearsed(recipe: Recipe, tagger: Tagger, ready: Preparation) -> Cost:
    """What all stages of a recipe will take, and what lies between them."""
    engine = build_engine(ready.plan.training, tagger)
    tagger.to(engine.device)
    total, since = Cost(), time.monotonic()
    for stage in recipe.stages(tagger, ready.plan):
        total += Cost(time.monotonic() - since)
        total += rehearse(stage.learner or tagger, tagger, stage, engine, stage.selector or ready.selector)
        since = time.monotonic()
    return total + Cost(time.monotonic() - since)
