"""The baselines, which adapt nothing: training on the labelled source alone, on the labelled target alone, and none.

The second is what DATNet calls the base model: whatever learns from labelled target sentences is measured against it.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from acclimate import layout
from acclimate.data.batches import SOURCE
from acclimate.methods.tagging import Tagging
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Plan, Recipe
from acclimate.settings import Settings
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage

LEAST_UPDATES = 500


def source_only(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    batches = plan.batches(tagger, {SOURCE: plan.source.labelled()})
    yield Stage("source", {"tag": Tagging()}, batches, plan.training)


class TargetOnlySettings(Settings):
    """How long to train at least."""

    least_updates: int = Field(LEAST_UPDATES, ge=1)
    """Minimum number of updates if training.updates is not set, since a few sentences make very short epochs."""


def target_only(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    least = getattr(plan.options, "least_updates", LEAST_UPDATES)
    batches = plan.batches(tagger, {SOURCE: plan.target.labelled()})  # the only domain there is
    yield Stage("target", {"tag": Tagging()}, batches, long_enough(plan.training, batches.epoch_length, least))


def long_enough(training: TrainingSettings, epoch_length: int, least: int) -> TrainingSettings:
    """The training settings, with more updates where the text is so short that the epochs would soon be over. Who sets
    the number of updates gets that number."""
    if training.updates is not None or training.updates_for(epoch_length) >= least:
        return training
    every = max(1, least // 20) if training.evaluate_every is None else training.evaluate_every
    return training.model_copy(update={"updates": least, "evaluate_every": every})


BASELINE = Recipe(layout.BASELINE, "no adaptation: train on the labelled source alone", source_only, needs=frozenset())
TARGET_ONLY = Recipe(
    "target-only",
    "no transfer: train on the labelled target sentences alone",
    target_only,
    TargetOnlySettings,
    needs=frozenset({"target", "target labels"}),
    needs_source=False,
    own_tagger="always",
)
START = Recipe(
    "start",
    "no training: the tagger that was given, as it is",
    lambda tagger, plan: iter(()),
    needs=frozenset(),
    needs_source=False,
)
"""The "before" of a run without a source. It trains nothing, so nobody needs to name it."""
