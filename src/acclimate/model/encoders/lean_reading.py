"""A look at text in few steps and a narrow number format, for encoders built as BERT is: for what a GPU does in every
update only to decide something.

Beside the usual reading: the three products before the attention are one, the activation comes out of the product
before it (the hyperbolic form of GELU, a few ten-thousandths away from the other), and sums are normed as they are
made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention

from acclimate.model.encoders.summed_norm import summed_norm

# others look alike from outside and read otherwise (rotary places, an attention of their own)
_KINDS = ("bert", "roberta", "xlm-roberta", "camembert", "data2vec-text", "ernie", "roc_bert", "electra")


class LeanReading:
    """The states of such an encoder (row, piece, feature), in evaluation mode and without gradient. Its weights are
    read where they stand, and narrowed in every reading."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def of(cls, model: Any) -> LeanReading | None:
        """None for encoders that are built otherwise."""
        config = getattr(model, "config", None)
        plain = getattr(config, "hidden_act", None) == "gelu" and not getattr(config, "is_decoder", False)
        places = getattr(config, "position_embedding_type", "absolute") in (None, "absolute")
        return cls(model) if reads_in_two_steps(model) and plain and places and _is_like_bert(model) else None

    @torch.no_grad()
    def __call__(self, pieces: Tensor, attention: Tensor | None, dtype: torch.dtype) -> Tensor:
        rows, length = pieces.shape
        shown = None if attention is None else attention.bool().view(rows, 1, 1, length)
        with torch.autocast(pieces.device.type, enabled=False):
            states = self.model.embeddings(input_ids=pieces).to(dtype).flatten(0, 1)  # (row × piece, feature)
            weights = iter(_narrowed([_weights(layer) for layer in self.model.encoder.layer], dtype))
            for layer in self.model.encoder.layer:
                states = _layer(layer, states, (rows, length), shown, next(weights))
        found: Tensor = states.view(rows, length, -1)
        return found


def reads_in_two_steps(model: Any) -> bool:
    """Whether its embeddings, and then its layers, are all that it does."""
    kind = getattr(getattr(model, "config", None), "model_type", None)
    return kind in _KINDS and not hasattr(model, "embeddings_project")


def _layer(
    layer: Any, states: Tensor, shape: tuple[int, int], shown: Tensor | None, weights: Sequence[Tensor]
) -> Tensor:
    asked, asked_bias, mixed, mixed_bias, norm, shift, wide, wide_bias, back, back_bias, last_norm, last_shift = weights
    heads = layer.attention.self.num_attention_heads
    threefold = linear(states, asked, asked_bias).view(*shape, 3, heads, -1)
    query, key, value = threefold.permute(2, 0, 3, 1, 4)  # (row, head, piece, feature)
    found = scaled_dot_product_attention(query, key, value, shown).transpose(1, 2).reshape(len(states), -1)
    eps, last_eps = layer.attention.output.LayerNorm.eps, layer.output.LayerNorm.eps
    states = summed_norm(linear(found, mixed, mixed_bias), states, norm, shift, eps)
    inner = torch._addmm_activation(wide_bias, states, wide.t(), use_gelu=True)
    return summed_norm(linear(inner, back, back_bias), states, last_norm, last_shift, last_eps)


def _weights(layer: Any) -> list[list[Tensor]]:
    """What a layer is made of; those that are used as one stand together."""
    own, mixed, wide, back = layer.attention.self, layer.attention.output, layer.intermediate.dense, layer.output
    asked = [own.query, own.key, own.value]
    parts = [[each.weight for each in asked], [each.bias for each in asked]]
    for one in (mixed.dense, mixed.LayerNorm, wide, back.dense, back.LayerNorm):
        parts += [[one.weight], [one.bias]]
    return parts


def _narrowed(layers: Sequence[Sequence[Sequence[Tensor]]], dtype: torch.dtype) -> list[list[Tensor]]:
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
