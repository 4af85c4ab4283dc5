"""The layers of an encoder that is built as BERT is, in fewer and larger steps, there and back: compiled once for all
layers and all shapes.

On a GPU a small encoder is bound by the number of steps, not by their work. Here the three products before the
attention are one, sums are normed as they are made, and formats change on the way: about half the steps. The numbers
are autocast's, but for the last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention

from acclimate.model.encoders.lean_reading import LeanReading


class FusedLayers:
    """Reads as the model does, from embeddings or pieces. Weights are read where they stand, so that narrow ones may
    stand there."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.refused = ""  # why it cannot be done here, found out at the first try

    @classmethod
    def of(cls, model: Any) -> FusedLayers | None:
        """None for encoders that are built otherwise, or drop some of their numbers in training."""
        drops = any(isinstance(part, nn.Dropout) and part.p > 0 for part in model.modules())
        dropped = getattr(getattr(model, "config", None), "attention_probs_dropout_prob", 0.0)
        return None if drops or dropped or LeanReading.of(model) is None else cls(model)

    def __call__(self, inputs: Tensor, attention: Tensor | None) -> Tensor | None:
        """The last layer (row, piece, feature); None where it cannot be compiled."""
        if self.refused:
            return None
        given = {"inputs_embeds": inputs} if inputs.is_floating_point() else {"input_ids": inputs}
        states: Tensor = self.model.embeddings(**given)
        try:
            with torch.autocast(inputs.device.type, enabled=False):
                hidden = None
                for layer in self.model.encoder.layer:
                    weights = _weights(layer)
                    if hidden is None and attention is not None:
                        hidden = _hidden(attention, weights[0].dtype)
                    own, norms = layer.attention.self, (layer.attention.output.LayerNorm, layer.output.LayerNorm)
                    heads, eps = own.num_attention_heads, [norm.eps for norm in norms]
                    states = _compiled()(states, hidden, heads, *eps, *weights)
        except Exception as failure:  # no compiler, a GPU that it does not know, ...: slower, but as right
            if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
                raise
            self.refused = str(failure)
            return None
        return states


@cache
def _compiled() -> Callable[..., Tensor]:
    return torch.compile(fused_layer, dynamic=True)


def fused_layer(
    states: Tensor, hidden: Tensor | None, heads: int, eps: float, last_eps: float, *weights: Tensor
) -> Tensor:
    """One layer: states (row, piece, feature) in a wide format, matrices in any."""
    query, key, value, mixed, wide, back = weights[:6]
    query_bias, key_bias, value_bias, mixed_bias, wide_bias, back_bias = weights[6:12]
    norm, shift, last_norm, last_shift = weights[12:]
    rows, pieces, width = states.shape
    asked, asked_bias = torch.cat((query, key, value)), torch.cat((query_bias, key_bias, value_bias))
    threefold = linear(states.to(asked.dtype), asked, asked_bias).view(rows, pieces, 3, heads, width // heads)
    asking, asked_of, told = threefold.permute(2, 0, 3, 1, 4)  # (row, head, piece, feature) each
    found = scaled_dot_product_attention(asking, asked_of, told, hidden)
    found = found.transpose(1, 2).reshape(rows, pieces, width)
    states = layer_norm(linear(found, mixed, mixed_bias) + states, (width,), norm, shift, eps)
    inner = gelu(linear(states.to(wide.dtype), wide, wide_bias))
    return layer_norm(linear(inner, back, back_bias) + states, (width,), last_norm, last_shift, last_eps)


def _hidden(attention: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to the attention's scores, (row, 1, 1, piece): nothing, or so little that none is left."""
    rows, pieces = attention.shape
    nothing = torch.zeros(rows, 1, 1, pieces, dtype=dtype, device=attention.device)
    return nothing.masked_fill(~attention.bool().view(rows, 1, 1, pieces), -torch.inf).expand(rows, 1, pieces, pieces)


def _weights(layer: Any) -> list[Tensor]:
    own, mixed, wide, back = layer.attention.self, layer.attention.output, layer.intermediate.dense, layer.output
    products = [own.query, own.key, own.value, mixed.dense, wide, back.dense]
    norms = [mixed.LayerNorm, back.LayerNorm]
    return [
        *(each.weight for each in products),
        *(each.bias for each in products),
        *(part for norm in norms for part in (norm.weight, norm.bias)),
    ]
