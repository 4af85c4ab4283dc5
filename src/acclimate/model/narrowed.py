"""An encoder's matrices in a narrow number format for one step, all of them made at once.

Autocast narrows each matrix where it is used and widens each gradient by itself: hundreds of small jobs in an update,
which a CPU takes longer to ask for than a GPU takes to do. Here they are narrowed together before the step, and their
gradients widened together after it. The numbers are those of autocast.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from acclimate.model.encoders.transformer import Transformer

_NAMES = ("weight", "bias")


class NarrowedWeights:
    """The linear layers of every pre-trained encoder in a learner. Inside `with narrowed(dtype)` they find narrow
    weights where their own are otherwise; `parameters()` still gives their own, which receive the gradient."""

    def __init__(self, learner: nn.Module) -> None:
        encoders = [part for part in learner.modules() if isinstance(part, Transformer)]
        layers = {layer: None for encoder in encoders for layer in _linear(encoder.model)}  # siblings share them
        self.places = [(layer, name) for layer in layers for name in _NAMES if layer._parameters.get(name) is not None]

    @contextmanager
    def __call__(self, dtype: torch.dtype) -> Iterator[None]:
        wide = [layer._parameters[name] for layer, name in self.places]
        made: tuple[Tensor, ...] = _Narrow.apply(dtype, *wide) if wide else ()  # type: ignore[no-untyped-call]
        for (layer, name), weight in zip(self.places, made, strict=True):
            layer.__dict__[name] = weight  # is found before the parameter of that name
        try:
            yield
        finally:
            for layer, name in self.places:
                layer.__dict__.pop(name, None)


@contextmanager
def own_weights(module: nn.Module) -> Iterator[None]:
    """Inside a step, too, the layers of this module read their own weights: what is recorded here stays right when the
    narrow ones of this step are gone."""
    aside = [
        (layer, name, layer.__dict__.pop(name))
        for layer in _linear(module)
        for name in _NAMES
        if name in layer.__dict__
    ]
    try:
        yield
    finally:
        for layer, name, weight in aside:
            layer.__dict__[name] = weight


def _linear(module: nn.Module) -> Iterator[nn.Linear]:
    # a subclass may do something else with its weights
    return (layer for layer in module.modules() if type(layer) is nn.Linear)


class _Narrow(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, dtype: torch.dtype, *weights: Tensor) -> tuple[Tensor, ...]:
        context.set_materialize_grads(False)
        narrow = [torch.empty_like(weight, dtype=dtype) for weight in weights]
        torch._foreach_copy_(narrow, weights)
        return tuple(narrow)

    @staticmethod
    def backward(context: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        here = [gradient for gradient in gradients if gradient is not None]  # a layer may have sat out
        wide = [torch.empty_like(each, dtype=torch.float32, memory_format=torch.contiguous_format) for each in here]
        if here:
            torch._foreach_copy_(wide, here)
        found = iter(wide)
        return None, *(None if gradient is None else next(found) for gradient in gradients)
