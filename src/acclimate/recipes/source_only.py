"""No adaptation: train on the labelled source and hope. Every other recipe is measured against this one."""

from __future__ import annotations

from collections.abc import Iterator

from acclimate.data.batches import SOURCE
from acclimate.methods.tagging import Tagging
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Plan
from acclimate.training.stage import Stage


def source_only(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    batches = plan.batches(tagger, {SOURCE: plan.source.labelled()})
    yield Stage("source", {"tag": Tagging()}, batches, plan.training)
