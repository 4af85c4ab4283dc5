"""A learner in training whose small steps a GPU replays: readings of its encoders, recursions of its heads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch import nn

from acclimate.model.encoders.recorded_passes import RecordedPasses
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.heads.crf import ConditionalRandomField
from acclimate.model.heads.softmax import IndependentTags
from acclimate.model.recorded import Recorded

HEADS = (ConditionalRandomField, IndependentTags)


class Recordings:
    """What a learner's stages have recorded so far. A stage goes on with the recordings of the one before where it
    trains the same encoder and head: to record a shape takes as long as a few updates, and rounds are short."""

    def __init__(self) -> None:
        self.passes: dict[int, RecordedPasses] = {}  # by the address of the model
        self.heads: dict[int, Recorded] = {}
        self.owners: list[nn.Module] = []  # held, or another module might get an address

    def passes_of(self, encoder: Transformer, settings: Mapping[str, Any]) -> RecordedPasses:
        found = self.passes.get(id(encoder.model))
        return RecordedPasses(encoder, **settings) if found is None else found

    def keep(self, learner: nn.Module) -> None:
        """Those of the learner; teachers are other ones in the next stage."""
        for part in learner.modules():
            if isinstance(part, Transformer) and isinstance(part.passes, RecordedPasses):
                part.passes.rest()
                self.passes[id(part.model)] = part.passes
                self.owners.append(part.model)
            elif isinstance(part, HEADS) and part.recorded is not None:
                self.heads[id(part)] = part.recorded
                self.owners.append(part)

    def forget(self) -> None:
        self.passes, self.heads, self.owners = {}, {}, []


@contextmanager
def replaying(
    learner: nn.Module, readers: Sequence[nn.Module] = (), known: Recordings | None = None, **settings: Any
) -> Iterator[list[RecordedPasses]]:
    """Inside, every pre-trained encoder in the learner replays its readings (those that share a model share the
    recordings), and every head its recursions; `readers`, who do not learn, alike. `known` are recordings of stages
    before this one, and those of this one are left there. `settings` are for `RecordedPasses`."""
    known = known or Recordings()
    parts = [part for module in (learner, *readers) for part in module.modules()]
    encoders = [part for part in parts if isinstance(part, Transformer)]
    heads = [part for part in parts if isinstance(part, HEADS)]
    passes: dict[int, RecordedPasses] = {}
    for encoder in encoders:
        if id(encoder.model) not in passes:
            passes[id(encoder.model)] = known.passes_of(encoder, settings)
        encoder.passes = passes[id(encoder.model)]
    for head in heads:
        head.recorded = known.heads.get(id(head)) or Recorded(most=64, again=True)
    for each in list(passes.values())[:1]:
        each.heads = [head.recorded for head in heads if head.recorded is not None]
    try:
        yield list(passes.values())
    finally:
        known.keep(learner)
        for encoder in encoders:
            encoder.passes = None
        for head in heads:
            head.recorded = None
