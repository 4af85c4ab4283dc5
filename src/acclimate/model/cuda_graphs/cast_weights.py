"""Encoders in half precision: all weights cast at once, and states in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from acclimate.model.cuda_graphs.graph_cache import GraphCache
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import eval_mode

_NAMES = ("weight", "bias")
_BUCKET = 8  # sizes are rounded up to multiples of this, so that many batches share a shape


class WeightCast:
    """Inside `with cast(dtype)` the linear layers of every pre-trained encoder use cast weights; the gradient goes to
    their own."""

    def __init__(self, learner: nn.Module) -> None:
        encoders = [part for part in learner.modules() if isinstance(part, Transformer)]
        linear = (layer for encoder in encoders for layer in encoder.model.modules() if type(layer) is nn.Linear)
        layers = dict.fromkeys(linear)  # siblings share them
        self.places = [(layer, name) for layer in layers for name in _NAMES if layer._parameters.get(name) is not None]

    @contextmanager
    def __call__(self, dtype: torch.dtype) -> Iterator[None]:
        own = [layer._parameters[name] for layer, name in self.places]
        cast: tuple[Tensor, ...] = _Cast.apply(dtype, *own) if own else ()  # type: ignore[no-untyped-call]
        for (layer, name), weight in zip(self.places, cast, strict=True):
            layer.__dict__[name] = weight  # is found before the parameter of that name
        try:
            yield
        finally:
            for layer, name in self.places:
                layer.__dict__.pop(name, None)


@contextmanager
def cast_module(module: nn.Module, dtype: torch.dtype) -> Iterator[None]:
    """Inside, every parameter of the module is cast, and autocast is off. For passes without gradient."""
    places = [
        (part, name, own)
        for part in module.modules()
        for name, own in part._parameters.items()
        if own is not None and own.is_floating_point()
    ]
    wide: list[Tensor] = list({id(own): own for *_, own in places}.values())  # two modules may share one
    made = [torch.empty_like(own, dtype=dtype) for own in wide]
    if made:
        torch._foreach_copy_(made, wide)
    narrow = {id(own): found for own, found in zip(wide, made, strict=True)}
    for part, name, own in places:
        part.__dict__[name] = narrow[id(own)]
    try:
        with torch.autocast(wide[0].device.type if wide else "cpu", enabled=False):
            yield
    finally:
        for part, name, _ in places:
            part.__dict__.pop(name, None)


class _Cast(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, dtype: torch.dtype, *weights: Tensor) -> tuple[Tensor, ...]:
        context.set_materialize_grads(False)
        narrow = [torch.empty_like(weight, dtype=dtype) for weight in weights]
        torch._foreach_copy_(narrow, weights)
        return tuple(narrow)

    @staticmethod
    def backward(context: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        here = [gradient for gradient in gradients if gradient is not None]  # a layer may be unused
        wide = [torch.empty_like(each, dtype=torch.float32, memory_format=torch.contiguous_format) for each in here]
        if here:
            torch._foreach_copy_(wide, here)
        found = iter(wide)
        return None, *(None if gradient is None else next(found) for gradient in gradients)


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
            with cast:
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
