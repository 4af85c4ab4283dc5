"""A reading of text that a GPU replays by itself: a look that only decides what to hide costs the CPU one call."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import pad

from acclimate.model.encoders.lean_reading import LeanReading
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.listening import listening
from acclimate.model.narrowed import NarrowedWeights, narrow_throughout, own_weights
from acclimate.model.recorded import Recorded

_STEP = 8  # rows and pieces that are not full are rounded up to multiples of this, so that many batches share a shape


@dataclass
class Replayed:
    """`Transformer.states` without dropout and gradient, in whichever mode the encoder is. On a GPU it is recorded for
    each shape, and where autocast is on, all of it is narrow; elsewhere it is read as usual. The weights are read where
    they stand, so that it follows the training."""

    recorded: Recorded = field(default_factory=lambda: Recorded(most=32, again=True))

    def __call__(self, encoder: Transformer, pieces: Tensor, attention: Tensor | None) -> Tensor:
        kind = pieces.device.type
        narrow = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        rows, length = pieces.shape
        if attention is not None and kind == "cuda":
            pieces, attention = widened(pieces, attention, encoder.pieces.longest)

        def read(pieces: Tensor, attention: Tensor | None = None) -> tuple[Tensor]:
            with listening(encoder):  # not for every replay: to turn hundreds of parts costs the CPU milliseconds
                return (in_this_mode(pieces, attention),)

        def in_this_mode(pieces: Tensor, attention: Tensor | None) -> Tensor:
            if narrow is not None and kind == "cuda":
                lean = LeanReading.of(encoder.model)
                if lean is not None:
                    with own_weights(encoder):
                        return lean(pieces, attention, narrow)
                with narrow_throughout(encoder, narrow):
                    return encoder.plain_states(pieces, attention)
            # all weights are narrowed together: one by one that is a hundred small jobs more
            narrowed = nullcontext() if narrow is None else NarrowedWeights(encoder)(narrow)
            with own_weights(encoder), narrowed:
                return encoder.plain_states(pieces, attention)

        key = (narrow, next(encoder.parameters()).data_ptr())  # other weights, another recording
        (states,) = self.recorded(key, read, pieces, *(() if attention is None else (attention,)))
        return states[:rows, :length]


def widened(pieces: Tensor, attention: Tensor, longest: int) -> tuple[Tensor, Tensor]:
    """The same rows, of pieces or of their embeddings, with padding, and rows of padding, behind them; none longer than
    the encoder can read."""
    rows, length = pieces.shape[:2]
    all_rows, whole = rounded(pieces.shape, longest)[:2]
    more, wider = all_rows - rows, whole - length
    attention = pad(attention, (0, wider, 0, more))
    attention[rows:, 0] = 1  # a row of which nothing is read has no states that are numbers
    return pad(pieces, (*(0, 0) * (pieces.ndim - 2), 0, wider, 0, more)), attention


def rounded(shape: Sequence[int], longest: int, step: int = _STEP) -> tuple[int, ...]:
    """(row, piece, ...), rows and pieces rounded up; no row becomes longer than the encoder can read."""
    rows, pieces = (size + -size % step for size in shape[:2])
    return (rows, max(shape[1], min(pieces, longest)), *shape[2:])
