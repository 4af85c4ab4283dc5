"""A learner in training whose small steps a GPU replays: readings of its encoders, recursions of its heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import nn

from acclimate.model.encoders.recorded_passes import RecordedPasses
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.heads.crf import ConditionalRandomField
from acclimate.model.heads.softmax import IndependentTags
from acclimate.model.recorded import Recorded


@contextmanager
def replaying(learner: nn.Module, readers: Sequence[nn.Module] = (), **settings: Any) -> Iterator[list[RecordedPasses]]:
    """Inside, every pre-trained encoder in the learner replays its readings (those that share a model share the
    recordings), and every head its recursions; `readers`, who do not learn, alike. `settings` are for
    `RecordedPasses`."""
    parts = [part for module in (learner, *readers) for part in module.modules()]
    encoders = [part for part in parts if isinstance(part, Transformer)]
    heads = [part for part in parts if isinstance(part, ConditionalRandomField | IndependentTags)]
    passes: dict[int, RecordedPasses] = {}
    for encoder in encoders:
        encoder.passes = passes.setdefault(id(encoder.model), RecordedPasses(encoder, **settings))
    for head in heads:
        head.recorded = Recorded(most=64, again=True)
    for each in list(passes.values())[:1]:
        each.heads = [head.recorded for head in heads if head.recorded is not None]
    try:
        yield list(passes.values())
    finally:
        for encoder in encoders:
            encoder.passes = None
        for head in heads:
            head.recorded = None
