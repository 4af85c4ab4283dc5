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
def narrow_throughout(module: nn.Module, dtype: torch.dtype) -> Iterator[None]:
    """Inside, every parameter of the module is found in a narrow format, and autocast is off: what goes in must be as
    narrow. For a look without a gradient at which numbers may be a little further from exact ones than autocast's,
    whose norms and sums are wide: half of the memory is read and written."""
    places = [
        (part, name, own)
        for part in module.modules()
        for name, own in part._parameters.items()
        if own is not None and own.is_floating_point()
    ]
    wide: list[Tensor] = list({id(own): own for *_, own in places}.values())  # a table may have two places
    made = [torch.empty_like(own, dtype=dtype) for own in wide]
    if made:
        torch._foreach_copy_(made, wide)
    narrow = {id(own): found for own, found in zip(wide, made, strict=True)}
    before = [(part, name, part.__dict__[name]) for part, name, _ in places if name in part.__dict__]
    for part, name, own in places:
        part.__dict__[name] = narrow[id(own)]
    try:
        with torch.autocast(wide[0].device.type if wide else "cpu", enabled=False):
            yield
    finally:
        for part, name, _ in places:
            part.__dict__.pop(name, None)
        for part, name, weight in before:
            part.__dict__[name] = weight


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
