"""A BERT's forward pass in few kernels and half precision, for what a GPU reads in every update only to decide
something.

The three products before the attention are one. The activation comes out of the product before it (the tanh form of
GELU, a few ten-thousandths from the other). The layer norm of a sum is one kernel in Triton, which comes with torch for
GPUs and needs a C compiler; elsewhere it is two steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, linear, pad, scaled_dot_product_attention

from acclimate.model.cuda_graphs.cast_weights import WeightCast, cast_module, uncast_weights
from acclimate.model.cuda_graphs.graph_cache import GraphCache
from acclimate.model.encoders.transformer import Transformer, embeds_then_encodes
from acclimate.model.learner import eval_mode

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

_WIDEST = 8192  # features that a program has in hand
_refused: list[str] = []  # why the kernel does not run here, found out at the first try


class FusedBert:
    """The states of an encoder like BERT (row, piece, feature), without dropout and gradient. Its weights are read
    where they stand, and cast in every pass."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def of(cls, model: Any) -> FusedBert | None:
        """None for encoders that are built otherwise."""
        config = getattr(model, "config", None)
        plain = getattr(config, "hidden_act", None) == "gelu" and not getattr(config, "is_decoder", False)
        places = getattr(config, "position_embedding_type", "absolute") in (None, "absolute")
        return cls(model) if embeds_then_encodes(model) and plain and places and _is_like_bert(model) else None

    @torch.no_grad()
    def __call__(self, pieces: Tensor, attention: Tensor | None, dtype: torch.dtype) -> Tensor:
        rows, length = pieces.shape
        shown = None if attention is None else attention.bool().view(rows, 1, 1, length)
        with torch.autocast(pieces.device.type, enabled=False):
            states = self.model.embeddings(input_ids=pieces).to(dtype).flatten(0, 1)  # (row × piece, feature)
            weights = iter(_cast([_weights(layer) for layer in self.model.encoder.layer], dtype))
            for layer in self.model.encoder.layer:
                states = _layer(layer, states, (rows, length), shown, next(weights))
        found: Tensor = states.view(rows, length, -1)
        return found


def _layer(
    layer: Any, states: Tensor, shape: tuple[int, int], shown: Tensor | None, weights: Sequence[Tensor]
) -> Tensor:
    asked, asked_bias, mixed, mixed_bias, norm, shift, wide, wide_bias, back, back_bias, last_norm, last_shift = weights
    heads = layer.attention.self.num_attention_heads
    threefold = linear(states, asked, asked_bias).view(*shape, 3, heads, -1)
    query, key, value = threefold.permute(2, 0, 3, 1, 4)  # (row, head, piece, feature)
    found = scaled_dot_product_attention(query, key, value, shown).transpose(1, 2).reshape(len(states), -1)
    eps, last_eps = layer.attention.output.LayerNorm.eps, layer.output.LayerNorm.eps
    states = fused_add_layer_norm(linear(found, mixed, mixed_bias), states, norm, shift, eps)
    inner = torch._addmm_activation(wide_bias, states, wide.t(), use_gelu=True)
    return fused_add_layer_norm(linear(inner, back, back_bias), states, last_norm, last_shift, last_eps)


def _weights(layer: Any) -> list[list[Tensor]]:
    """What a layer is made of; those that are used as one stand together."""
    own, mixed, wide, back = layer.attention.self, layer.attention.output, layer.intermediate.dense, layer.output
    asked = [own.query, own.key, own.value]
    parts = [[each.weight for each in asked], [each.bias for each in asked]]
    for one in (mixed.dense, mixed.LayerNorm, wide, back.dense, back.LayerNorm):
        parts += [[one.weight], [one.bias]]
    return parts


def _cast(layers: Sequence[Sequence[Sequence[Tensor]]], dtype: torch.dtype) -> list[list[Tensor]]:
    """All in one go: one by one that would be hundreds of small jobs."""
    made = [[_room(group, dtype) for group in layer] for layer in layers]
    places = [
        place
        for layer, rooms in zip(layers, made, strict=True)
        for group, room in zip(layer, rooms, strict=True)
        for place in torch.split(room, [len(each) for each in group])
    ]
    torch._foreach_copy_(places, [each.detach() for layer in layers for group in layer for each in group])
    return made


def _room(group: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    length = sum(len(each) for each in group)
    return torch.empty(length, *group[0].shape[1:], dtype=dtype, device=group[0].device)


def _is_like_bert(model: Any) -> bool:
    try:
        layers = list(model.encoder.layer)
        groups = [_weights(layer) for layer in layers]
    except (AttributeError, TypeError):
        return False
    plain = all(
        type(part) in (nn.Linear, nn.LayerNorm, nn.Dropout) or not list(part.parameters(recurse=False))
        for layer in layers
        for part in layer.modules()
    )
    known = sum(len(group) for layer in groups for group in layer)
    return plain and bool(layers) and known == sum(1 for _ in model.encoder.parameters())


def fused_add_layer_norm(one: Tensor, other: Tensor, weight: Tensor, shift: Tensor, eps: float) -> Tensor:
    """The norm of one + other (place, feature)."""
    if triton is not None and not _refused and one.device.type == "cuda" and one.shape[1] <= _WIDEST:
        try:
            return _one_kernel(one, other, weight, shift, eps)
        except Exception as failure:  # no compiler, a GPU that Triton does not know, ...: slower, but as right
            _refused.append(str(failure))
    return layer_norm(one + other, (one.shape[1],), weight, shift, eps)


def _one_kernel(one: Tensor, other: Tensor, weight: Tensor, shift: Tensor, eps: float) -> Tensor:
    one, other = one.contiguous(), other.contiguous()
    total = torch.empty_like(one)
    size = triton.next_power_of_2(one.shape[1])
    _sum[(len(one),)](one, other, weight, shift, total, one.shape[1], eps, size, num_warps=4)
    return total


# Triton looks up the names in annotations, and knows none but its own
def _sum_row(one, other, weight, shift, found, count, eps, size: tl.constexpr):  # type: ignore[no-untyped-def]
    """Triton's own language: each place is a program's."""
    place = tl.program_id(0).to(tl.int64)
    numbers = tl.arange(0, size)
    inside = numbers < count
    row = place * count + numbers
    total = tl.load(one + row, mask=inside, other=0.0).to(tl.float32)
    total += tl.load(other + row, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / count
    away = tl.where(inside, total - mean, 0.0)
    scale = tl.rsqrt(tl.sum(away * away, 0) / count + eps)
    normed = away * scale * tl.load(weight + numbers, mask=inside, other=0.0).to(tl.float32)
    normed += tl.load(shift + numbers, mask=inside, other=0.0).to(tl.float32)
    tl.store(found + row, normed, mask=inside)


_sum: Any = None if triton is None else triton.jit(_sum_row)


_BUCKET = 8  # rows and pieces that are not full are rounded up to multiples of this, so that many batches share a shape


@dataclass
class EvalStates:
    """`Transformer.states` without dropout and gradient, in whichever mode the encoder is.

    On a GPU each shape has a graph, and under autocast all of it runs in half precision. Elsewhere it is read as usual.
    Graphs read the weights where they stand, so that they follow the training.
    """

    cache: GraphCache = field(default_factory=lambda: GraphCache(most=32, on_second_use=True))

    def __call__(self, encoder: Transformer, pieces: Tensor, attention: Tensor | None) -> Tensor:
        kind = pieces.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        rows, length = pieces.shape
        if attention is not None and kind == "cuda":
            pieces, attention = pad_rows(pieces, attention, encoder.pieces.longest)

        def read(pieces: Tensor, attention: Tensor | None = None) -> tuple[Tensor]:
            with eval_mode(encoder):  # not for every replay: to turn hundreds of parts costs the CPU milliseconds
                return (in_this_mode(pieces, attention),)

        def in_this_mode(pieces: Tensor, attention: Tensor | None) -> Tensor:
            if dtype is not None and kind == "cuda":
                fused = FusedBert.of(encoder.model)
                if fused is not None:
                    with uncast_weights(encoder):
                        return fused(pieces, attention, dtype)
                with cast_module(encoder, dtype):
                    return encoder.plain_states(pieces, attention)
            # all weights are cast together: one by one that is a hundred small kernels more
            cast = nullcontext() if dtype is None else WeightCast(encoder)(dtype)
            with uncast_weights(encoder), cast:
                return encoder.plain_states(pieces, attention)

        key = (dtype, next(encoder.parameters()).data_ptr())  # other weights, another graph
        (states,) = self.cache(key, read, pieces, *(() if attention is None else (attention,)))
        return states[:rows, :length]


def pad_rows(pieces: Tensor, attention: Tensor, longest: int) -> tuple[Tensor, Tensor]:
    """The same rows, of pieces or of their embeddings, with padding, and rows of padding, behind them; none longer than
    the encoder can read."""
    rows, length = pieces.shape[:2]
    all_rows, whole = rounded(pieces.shape, longest)[:2]
    more, wider = all_rows - rows, whole - length
    attention = pad(attention, (0, wider, 0, more))
    attention[rows:, 0] = 1  # a row of which nothing is read has no states that are numbers
    return pad(pieces, (*(0, 0) * (pieces.ndim - 2), 0, wider, 0, more)), attention


def rounded(shape: Sequence[int], longest: int, step: int = _BUCKET) -> tuple[int, ...]:
    """(row, piece, ...), rows and pieces rounded up; no row becomes longer than the encoder can read."""
    rows, pieces = (size + -size % step for size in shape[:2])
    return (rows, max(shape[1], min(pieces, longest)), *shape[2:])
