"""Forward and backward pass of an encoder as two CUDA graphs for one shape, for training.

Gradients of all parameters are written into one row, so that autograd visits each parameter once in a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from acclimate.model.acceleration import Read
from acclimate.model.cuda_graphs.graph_cache import GraphMemory, capturing, on_side_stream, reset_after_failure


@dataclass
class Slot:
    """What graphs share of which only one runs at a time: memory, and the row of all parameters' gradients."""

    number: int
    memory: GraphMemory | None = None
    rows: dict[tuple[int, ...], Tensor] = field(default_factory=dict)
    taken: int = 0  # bytes of the GPU's memory that graphs have kept

    @classmethod
    def on_gpu(cls, number: int) -> Slot:
        return cls(number, GraphMemory.on_gpu())

    def row(self, parameters: Sequence[Tensor], owners: tuple[int, ...]) -> Tensor:
        """For the gradients of these of the parameters."""
        if owners not in self.rows:
            formats = {parameters[number].dtype for number in owners}
            if len(formats) > 1:
                raise RuntimeError(f"parameters of several number formats: {', '.join(map(str, formats))}")
            length = sum(parameters[number].numel() for number in owners)
            self.rows[owners] = parameters[owners[0]].new_zeros(length)
        return self.rows[owners]


@dataclass
class EncoderGraph:
    """The buffers of the two graphs, and how they are replayed. `owners` are the numbers of the parameters that get a
    gradient."""

    inputs: Tensor
    attention: Tensor | None
    states: Tensor
    gradient: Tensor  # of the loss by the states
    owners: tuple[int, ...]
    of_owners: Tensor | None  # their gradients in one row
    of_inputs: Tensor | None
    forward: Callable[[], None]
    backward: Callable[[], None]
    slot: Slot
    replays: int = 0
    busy: bool = False  # between a forward pass and the end of its step: its memory is in use

    def read(self, inputs: Tensor, attention: Tensor | None, joined: Tensor | None) -> Tensor:
        """The states of rows that may be fewer and shorter than the graph's. `joined` stands for the owners."""
        self.busy = True
        states: Tensor = _Replay.apply(self, attention, inputs, joined)  # type: ignore[no-untyped-call]
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
    def forward(
        context: Any, graph: EncoderGraph, attention: Tensor | None, inputs: Tensor, joined: Tensor | None
    ) -> Tensor:
        graph.replays += 1
        graph.fill(inputs, attention)
        graph.forward()
        context.graph, context.replay, context.shape = graph, graph.replays, inputs.shape[:2]
        rows, pieces = context.shape
        return graph.states[:rows, :pieces].clone()  # who keeps it must not see the next reading

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        graph: EncoderGraph = context.graph
        if graph.replays != context.replay:
            raise RuntimeError(
                "The gradient of an earlier step's pass was asked for, and its memory has been used again. "
                "With training.cuda_graphs=false it is kept."
            )
        rows, pieces = context.shape
        graph.gradient.zero_()
        graph.gradient[:rows, :pieces].copy_(gradient)
        graph.backward()
        of_inputs = None if graph.of_inputs is None else graph.of_inputs[:rows, :pieces].clone()
        # not copied: the loop is through with it before the next replay
        return None, None, of_inputs, None if graph.of_owners is None else graph.of_owners.detach()


class _Join(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, *parameters: Tensor) -> Tensor:
        context.parameters = parameters
        return parameters[0].new_zeros(()).expand(sum(parameter.numel() for parameter in parameters))

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        return tuple(in_shapes(gradient, context.parameters))


def join(parameters: Sequence[Tensor]) -> Tensor:
    """What stands for all of them in autograd's graph: a row as long as all together, without memory of its own, of
    which nobody reads a value. Gradients of several readings are then added at once, and each parameter is visited once
    in a step, not once for every reading."""
    row: Tensor = _Join.apply(*parameters)  # type: ignore[no-untyped-call]
    return row


def in_shapes(row: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """The row in parts, each shaped as one of the parameters; one call, not two for each."""
    return list(torch._C._nn.unflatten_dense_tensors(row, list(parameters)))


def capture_encoder(
    model: nn.Module,
    read: Read,
    inputs: Tensor,
    attention: Tensor | None,
    parameters: Sequence[nn.Parameter],
    slot: Slot,
) -> EncoderGraph:
    """Both directions on a GPU. `inputs` and `attention` become the places that are read from. A RuntimeError says why
    it cannot be done: something asks the GPU for an answer on the way."""
    try:
        with _fresh(model, parameters) as leaves:
            return _captured(read, inputs, attention, leaves, slot)
    except RuntimeError:
        reset_after_failure()
        slot.memory = GraphMemory.on_gpu()
        raise


def _captured(
    read: Read, inputs: Tensor, attention: Tensor | None, parameters: Sequence[Tensor], slot: Slot
) -> EncoderGraph:
    assert slot.memory is not None
    forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    state = torch.cuda.get_rng_state()
    with on_side_stream(slot.memory):
        # libraries choose their kernels in the first calls, which cannot be captured, and need two for the very first
        for _ in range(1 if slot.rows else 2):
            states = read(inputs, attention)
            gradient = torch.zeros_like(states)
            owners, of_owners, of_inputs = gradients(states, gradient, inputs, parameters, slot)
        before = torch.cuda.memory_reserved()
        with capturing(forward, slot.memory.pool):
            states = read(inputs, attention)
        with capturing(backward, slot.memory.pool):
            owners, of_owners, of_inputs = gradients(states, gradient, inputs, parameters, slot)
        slot.taken += torch.cuda.memory_reserved() - before
    torch.cuda.set_rng_state(state)
    # detached: what autograd holds of this reading is let go of, and the next graph of the slot writes there
    places = (inputs, attention, states.detach(), gradient)
    return EncoderGraph(*places, owners, of_owners, of_inputs, forward.replay, backward.replay, slot)


def gradients(
    states: Tensor, gradient: Tensor, inputs: Tensor, parameters: Sequence[Tensor], slot: Slot
) -> tuple[tuple[int, ...], Tensor | None, Tensor | None]:
    """Who of the parameters gets a gradient, these in one row, and that of the inputs."""
    wanted = [*parameters, *([inputs] if inputs.requires_grad else [])]
    # kept for another turn: adversarial noise goes back twice from one reading
    found = torch.autograd.grad(states, wanted, gradient, retain_graph=True, allow_unused=True)
    of_parameters = found[: len(parameters)]
    of_inputs = found[-1] if inputs.requires_grad else None
    owners = tuple(number for number, each in enumerate(of_parameters) if each is not None)
    if not owners:
        return owners, None, of_inputs
    row = slot.row(parameters, owners)
    torch._foreach_copy_(
        in_shapes(row, [parameters[number] for number in owners]),
        [each for each in of_parameters if each is not None],
    )
    return owners, row, of_inputs


@contextmanager
def _fresh(model: nn.Module, parameters: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """In the places of the parameters, others with the same memory: the own ones may still be part of the last step,
    and autograd would bring their gradients to the stream of that step, which is not the one that is captured."""
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
