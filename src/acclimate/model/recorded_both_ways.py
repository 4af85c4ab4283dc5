"""Work with a gradient that a GPU replays by itself, forward and backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from acclimate.model.recording_memory import Memory, aside, capturing, clear


class _User:
    """Lives as long as somebody may ask for the gradient."""


@dataclass
class BothWays:
    """The places that a recording reads from and writes to. Its memory is its own: others are replayed between its
    forward and its backward."""

    inputs: tuple[Tensor, ...]
    output: Tensor
    gradient: Tensor  # of the loss by the output
    gradients: tuple[Tensor | None, ...]  # by the inputs
    forward: Callable[[], None]
    backward: Callable[[], None]
    turn: int = 0  # how often it was replayed
    user: weakref.ref[_User] | None = None

    @property
    def busy(self) -> bool:
        return self.user is not None and self.user() is not None

    def replay(self, inputs: Sequence[Tensor]) -> Tensor:
        output: Tensor = _Replay.apply(self, *inputs)  # type: ignore[no-untyped-call]
        return output


class _Replay(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, made: BothWays, *inputs: Tensor) -> Tensor:
        for place, tensor in zip(made.inputs, inputs, strict=True):
            place.copy_(tensor)
        made.forward()
        made.turn += 1
        context.made, context.turn, context.user = made, made.turn, _User()
        made.user = weakref.ref(context.user)
        return made.output.clone()

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        made: BothWays = context.made
        if made.turn != context.turn:
            raise RuntimeError(
                "A gradient was asked for a second time, and its memory has been used again. "
                "With training.replay=false it is kept."
            )
        made.gradient.copy_(gradient)
        made.backward()
        return None, *(None if each is None else each.clone() for each in made.gradients)


def record_both_ways(work: Callable[..., Tensor], inputs: Sequence[Tensor]) -> BothWays:
    """On a GPU. A RuntimeError says why it cannot be done: something asks the GPU for an answer on the way."""
    places = tuple(tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in inputs)
    there, back = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    memory = Memory.on_gpu()
    try:
        with aside(memory):
            for _ in range(2):  # libraries choose their kernels in the first calls, which cannot be recorded
                output = work(*places)
                gradient = torch.zeros_like(output)
                gradients_of(output, gradient, places)
            with capturing(there, memory.pool):
                output = work(*places)
            with capturing(back, memory.pool):
                found = gradients_of(output, gradient, places)
    except RuntimeError:
        clear()
        raise
    return BothWays(places, output.detach(), gradient, found, there.replay, back.replay)


def gradients_of(output: Tensor, gradient: Tensor, inputs: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    """By each input; None for those that need none."""
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    # kept for another turn, or what lies between would be written over on the way back
    found = iter(torch.autograd.grad(output, wanted, gradient, retain_graph=True, allow_unused=True))
    return tuple(next(found) if tensor.requires_grad else None for tensor in inputs)
