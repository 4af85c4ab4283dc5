"""Forward and backward of an encoder, recorded together for one shape, so that a GPU replays each by itself.

A small encoder keeps the CPU busier asking for hundreds of steps than the GPU doing them. What `model/recorded.py` does
for work without a gradient is done here for training.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

Read = Callable[[Tensor, Tensor | None], Tensor]
"""Rows of pieces (row, piece) or of their embeddings (row, piece, width), and attention (row, piece) → states."""


@dataclass
class Pass:
    """The places that a recording reads from and writes to, and how it is replayed. `gradients` belong to the
    parameters, the last one to the inputs; None for what has no part in it."""

    inputs: Tensor
    attention: Tensor | None
    states: Tensor
    gradient: Tensor  # of the loss by the states
    gradients: Sequence[Tensor | None]
    forward: Callable[[], None]
    backward: Callable[[], None]
    turn: int = 0  # how often it was read through
    busy: bool = False  # between a reading and the end of its step: its memory is in use

    def read(self, inputs: Tensor, attention: Tensor | None, parameters: Sequence[Tensor]) -> Tensor:
        """The states of rows that may be fewer and shorter than the recording's."""
        self.busy = True
        states: Tensor = _Replay.apply(self, attention, inputs, *parameters)  # type: ignore[no-untyped-call]
        return states

    def fill(self, inputs: Tensor, attention: Tensor | None) -> None:
        rows, pieces = inputs.shape[:2]
        self.inputs[:rows, :pieces].copy_(inputs)
        if self.attention is not None and attention is not None:
            self.attention.zero_()
            self.attention[:rows, :pieces].copy_(attention)
            self.attention[rows:, 0] = 1  # a row of which nothing is read has no states that are numbers


class _Replay(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, made: Pass, attention: Tensor | None, inputs: Tensor, *parameters: Tensor) -> Tensor:
        made.turn += 1
        made.fill(inputs, attention)
        made.forward()
        context.made, context.turn, context.shape = made, made.turn, inputs.shape[:2]
        rows, pieces = context.shape
        return made.states[:rows, :pieces].clone()  # who keeps it must not see the next reading

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        made: Pass = context.made
        if made.turn != context.turn:
            raise RuntimeError(
                "The gradient of an earlier step's reading was asked for, and its memory has been used again. "
                "With training.replay=false it is kept."
            )
        rows, pieces = context.shape
        made.gradient.zero_()
        made.gradient[:rows, :pieces].copy_(gradient)
        made.backward()
        *of_parameters, of_inputs = made.gradients
        mine = None if of_inputs is None else of_inputs[:rows, :pieces].clone()
        # not copied: the loop is through with them before the next replay
        return None, None, mine, *(None if each is None else each.detach() for each in of_parameters)


def record(
    model: nn.Module, read: Read, inputs: Tensor, attention: Tensor | None, parameters: Sequence[nn.Parameter]
) -> Pass:
    """Both directions on a GPU. `inputs` and `attention` become the places that are read from. A RuntimeError says why
    it cannot be done: something asks the GPU for an answer on the way."""
    try:
        with _fresh(model, parameters) as leaves:
            return _recorded(read, inputs, attention, leaves)
    except RuntimeError:
        _clear()
        raise


def _recorded(read: Read, inputs: Tensor, attention: Tensor | None, parameters: Sequence[Tensor]) -> Pass:
    wanted = [*parameters, *([inputs] if inputs.requires_grad else [])]
    there, back = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    lots = torch.cuda.get_rng_state()
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(2):  # libraries choose their kernels in the first calls, which cannot be recorded
            states = read(inputs, attention)
            torch.autograd.grad(states, wanted, torch.zeros_like(states), allow_unused=True)
        gradient = torch.zeros_like(states)
        with _capturing(there):
            states = read(inputs, attention)
        with _capturing(back, there.pool()):
            # kept for another turn: adversarial noise goes back twice from one reading
            found = torch.autograd.grad(states, wanted, gradient, retain_graph=True, allow_unused=True)
    torch.cuda.current_stream().wait_stream(aside)
    torch.cuda.set_rng_state(lots)
    gradients = found if inputs.requires_grad else (*found, None)
    return Pass(inputs, attention, states, gradient, gradients, there.replay, back.replay)


@contextmanager
def _fresh(model: nn.Module, parameters: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """In the places of the parameters, others with the same memory: the own ones may still be part of the last step,
    and autograd would bring their gradients to the stream of that step, which is not the one that is recorded."""
    leaves = {id(each): nn.Parameter(each.detach()) for each in parameters}
    places = [
        (part, name, own)
        for part in model.modules()
        for name, own in part._parameters.items()
        if own is not None and id(own) in leaves
    ]
    for part, name, own in places:
        part._parameters[name] = leaves[id(own)]
    try:
        yield list(leaves.values())
    finally:
        for part, name, own in places:
            part._parameters[name] = own


def _clear() -> None:
    """A recording that broke off leaves the generator of random numbers waiting for its end: one that succeeds is that
    end."""
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    with torch.cuda.stream(aside):
        number = torch.zeros(1, device="cuda")
        with _capturing(torch.cuda.CUDAGraph()):
            number.add_(1)
    torch.cuda.current_stream().wait_stream(aside)


@contextmanager
def _capturing(graph: torch.cuda.CUDAGraph, pool: Any = None) -> Iterator[None]:
    """`torch.cuda.graph` without emptying the allocator's cache, which the next step would have to fill again."""
    collecting = gc.isenabled()
    gc.disable()  # memory that is let go of in mid-recording would spoil it
    torch.cuda.synchronize()
    # what other threads ask of the GPU meanwhile (they prepare batches) is no business of the recording
    graph.capture_begin(pool, "thread_local")
    try:
        yield
    finally:
        graph.capture_end()
        if collecting:
            gc.enable()
