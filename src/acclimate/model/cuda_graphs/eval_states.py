"""States of an encoder in evaluation mode, from CUDA graphs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import pad

from acclimate.model.cuda_graphs.cast_weights import WeightCast, cast_module, uncast_weights
from acclimate.model.cuda_graphs.graph_cache import GraphCache
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import eval_mode

_BUCKET = 8  # sizes are rounded up to multiples of this, so that many batches share a shape


@dataclass
class EvalStates:
    """`Transformer.states` without dropout and gradient. On a GPU each shape has a graph, and under autocast all of it
    runs in half precision; graphs follow the weights as they are trained."""

    cache: GraphCache = field(default_factory=lambda: GraphCache(most=32, on_second_use=True))

    def __call__(self, encoder: Transformer, pieces: Tensor, attention: Tensor | None) -> Tensor:
        kind = pieces.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        rows, length = pieces.shape
        if attention is not None and kind == "cuda":
            pieces, attention = pad_rows(pieces, attention, encoder.pieces.longest)

        def read(pieces: Tensor, attention: Tensor | None = None) -> tuple[Tensor]:
            with eval_mode(encoder):  # slow, so only when a graph is made
                return (in_this_mode(pieces, attention),)

        def in_this_mode(pieces: Tensor, attention: Tensor | None) -> Tensor:
            if dtype is not None and kind == "cuda":
                with cast_module(encoder, dtype):
                    return encoder.plain_states(pieces, attention)
            cast = nullcontext() if dtype is None else WeightCast(encoder)(dtype)
            with uncast_weights(encoder), cast:
                return encoder.plain_states(pieces, attention)

        key = (dtype, next(encoder.parameters()).data_ptr())  # other weights, another graph
        (states,) = self.cache(key, read, pieces, *(() if attention is None else (attention,)))
        return states[:rows, :length]


def pad_rows(pieces: Tensor, attention: Tensor, longest: int) -> tuple[Tensor, Tensor]:
    """The rows with padding, and rows of padding, behind them; none longer than the encoder can read."""
    rows, length = pieces.shape[:2]
    all_rows, whole = rounded(pieces.shape, longest)[:2]
    more, wider = all_rows - rows, whole - length
    attention = pad(attention, (0, wider, 0, more))
    attention[rows:, 0] = 1  # the states of an empty row are NaN
    return pad(pieces, (*(0, 0) * (pieces.ndim - 2), 0, wider, 0, more)), attention


def rounded(shape: Sequence[int], longest: int, step: int = _BUCKET) -> tuple[int, ...]:
    """A shape (row, piece, ...) with rows and pieces rounded up."""
    rows, pieces = (size + -size % step for size in shape[:2])
    return (rows, max(shape[1], min(pieces, longest)), *shape[2:])
