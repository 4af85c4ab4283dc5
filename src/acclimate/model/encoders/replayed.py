"""A reading of text that a GPU replays by itself: a look that only decides what to hide costs the CPU one call."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from acclimate.model.encoders.transformer import Transformer
from acclimate.model.narrowed import own_weights
from acclimate.model.recorded import Recorded


@dataclass
class Replayed:
    """`Transformer.states` in evaluation mode and without gradient, for full rows of a few shapes on a GPU; anything
    else is read as usual. The weights are read where they stand, so that it follows the training."""

    recorded: Recorded = field(default_factory=Recorded)

    def __call__(self, encoder: Transformer, pieces: Tensor, attention: Tensor | None) -> Tensor:
        if attention is not None or encoder.training:
            return encoder.states(pieces, attention)
        kind = pieces.device.type
        narrow = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        first = next(encoder.parameters())

        def read(rows: Tensor) -> tuple[Tensor]:
            with own_weights(encoder):
                return (encoder.states(rows),)

        (states,) = self.recorded((narrow, first.data_ptr()), read, pieces)  # other weights, another recording
        return states
