"""Passes of an encoder in training as CUDA graphs: forward and backward for each common shape."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from acclimate.model.cuda_graphs.cast_weights import WeightCast, pad_rows, rounded
from acclimate.model.cuda_graphs.graph_cache import (
    FREE,
    GraphCache,
    GraphMemory,
    capturing,
    on_side_stream,
    reset_after_failure,
)
from acclimate.model.encoders.encoder import Read
from acclimate.model.encoders.transformer import Transformer


@dataclass
class Slot:
    """What graphs share that never run together: memory, and the row of all parameters' gradients."""

    number: int
    memory: GraphMemory | None = None
    rows: dict[tuple[int, ...], Tensor] = field(default_factory=dict)
    taken: int = 0  # bytes of the GPU's memory that graphs have kept

    @classmethod
    def on_gpu(cls, number: int) -> Slot:
        return cls(number, GraphMemory.on_gpu())

    def row(self, parameters: Sequence[Tensor], owners: tuple[int, ...]) -> Tensor:
        """For the gradients of these parameters."""
        if owners not in self.rows:
            formats = {parameters[number].dtype for number in owners}
            if len(formats) > 1:
                raise RuntimeError(f"parameters of several number formats: {', '.join(map(str, formats))}")
            length = sum(parameters[number].numel() for number in owners)
            self.rows[owners] = parameters[owners[0]].new_zeros(length)
        return self.rows[owners]


@dataclass
class EncoderGraph:
    """The two graphs of a shape and their buffers. `owners` are the numbers of the parameters with a gradient."""

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
        """The states of rows, perhaps fewer and shorter than the graph's. `joined` stands for the owners."""
        self.busy = True
        states: Tensor = _Replay.apply(self, attention, inputs, joined)  # type: ignore[no-untyped-call]
        return states

    def fill(self, inputs: Tensor, attention: Tensor | None) -> None:
        rows, pieces = inputs.shape[:2]
        self.inputs[:rows, :pieces].copy_(inputs)
        if self.attention is not None and attention is not None:
            self.attention.zero_()
            self.attention[:rows, :pieces].copy_(attention)
            self.attention[rows:, 0] = 1  # the states of an empty row are NaN


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
        return graph.states[:rows, :pieces].clone()  # the next replay writes there again

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
    """One tensor without memory stands for all parameters in autograd's graph: each is visited once in a step."""
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
    """Capture both directions into these buffers. A RuntimeError says why it cannot be done."""
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
        # the first calls choose kernels, which cannot be captured
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
    # detached, so that autograd lets go of this pass and the next graph can use its memory
    places = (inputs, attention, states.detach(), gradient)
    return EncoderGraph(*places, owners, of_owners, of_inputs, forward.replay, backward.replay, slot)


def gradients(
    states: Tensor, gradient: Tensor, inputs: Tensor, parameters: Sequence[Tensor], slot: Slot
) -> tuple[tuple[int, ...], Tensor | None, Tensor | None]:
    """The numbers of the parameters with a gradient, these gradients in one row, and the gradient of the inputs."""
    wanted = [*parameters, *([inputs] if inputs.requires_grad else [])]
    # the graph is retained: adversarial noise needs a second backward pass
    found = torch.autograd.grad(states, wanted, gradient, retain_graph=True, allow_unused=True)
    of_parameters = found[: len(parameters)]
    of_inputs = found[-1] if inputs.requires_grad else None
    owners = tuple(number for number, each in enumerate(of_parameters) if each is not None)
    if not owners:
        return owners, None, of_inputs
    row = slot.row(parameters, owners)
    torch._foreach_copy_(
        in_shapes(row, [parameters[number] for number in owners]), [each for each in of_parameters if each is not None]
    )
    return owners, row, of_inputs


@contextmanager
def _fresh(model: nn.Module, parameters: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Replace the parameters by others with the same memory, which do not belong to the stream of the last step."""
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


Kind = tuple[object, ...]
"""All but the shape: a graph may serve smaller shapes of its kind."""
Capture = Callable[[nn.Module, Read, Tensor, Tensor | None, Sequence[nn.Parameter], Slot], EncoderGraph]

_BUSY = 2e12  # pieces × weights: with more the GPU is busy without graphs
_LIGHT = 4e7  # weights: with fewer, few graphs are better than little padding
# sizes are rounded up to multiples of the first number; a graph may be larger than its rows by the second, a factor
_COARSE, _FINE = (16, 2.0), (8, 1.5)
_SHARE = 0.4  # of the GPU's memory, that graphs may take
_TIGHT = 0.4  # where less of it is free, unused memory is given back
_MUCH = 1 << 30  # bytes
_ATTEMPTS = 3  # at capturing
_PAUSE = 200  # passes before asking for room again


class EncoderGraphs:
    """The CUDA graphs of one pre-trained encoder, at most `most`: one for each shape that comes twice, and one more
    for each further pass of a step."""

    def __init__(
        self, encoder: Transformer, capture: Capture = capture_encoder, most: int = 128, kind: str = "cuda"
    ) -> None:
        self.encoder, self.capture, self.most, self.kind = encoder, capture, most, kind
        self.cast = WeightCast(encoder)
        self.weights = sum(parameter.numel() for parameter in encoder.model.parameters())
        self.step, self.waste = _COARSE if self.weights < _LIGHT else _FINE
        self.longest = encoder.pieces.longest
        self.graphs: dict[Kind, list[EncoderGraph]] = {}
        self.seen: set[tuple[object, ...]] = set()
        self.slots: list[Slot] = []
        self.joined: dict[tuple[int, ...], Tensor] = {}  # in this step, by who is in it
        self.refused: dict[tuple[object, ...], str] = {}
        self.eval_graphs = GraphCache(most=24, on_second_use=True)
        self.parameters = list(encoder.model.parameters())
        self.pause = 0  # passes, until there may be room again
        self.tidied = 0  # graphs there were when memory was last given back

    @property
    def taken(self) -> int:
        """Bytes of the GPU's memory."""
        return sum(slot.taken for slot in self.slots)

    def release(self) -> None:
        """A new step begins: no gradient of the last one is needed any more."""
        self.joined = {}
        for graphs in self.graphs.values():
            for each in graphs:
                each.busy = False

    def __call__(self, read: Read, inputs: Tensor, attention: Tensor | None) -> Tensor:
        if not torch.is_grad_enabled():
            return self._without_gradient(read, inputs, attention)
        if not self._serves(inputs):
            return read(inputs, attention)
        parameters = [parameter for parameter in self.parameters if parameter.requires_grad]
        if not parameters and not inputs.requires_grad:
            return read(inputs, attention)
        graph = self._graph_for(read, inputs, attention, parameters)
        if graph is None:
            return read(inputs, attention)
        owners = graph.owners
        if owners and owners not in self.joined:
            self.joined[owners] = join([parameters[number] for number in owners])
        return graph.read(inputs, attention, self.joined.get(owners))

    def _without_gradient(self, read: Read, inputs: Tensor, attention: Tensor | None) -> Tensor:
        """A teacher's pass; a learner's is too rare to be worth a graph."""
        learns = any(parameter.requires_grad for parameter in self.parameters)
        if learns or self.encoder.model.training or not self._serves(inputs):
            return read(inputs, attention)
        rows, length = inputs.shape[:2]
        dtype = torch.get_autocast_dtype(self.kind) if torch.is_autocast_enabled(self.kind) else None
        if attention is not None:
            inputs, attention = pad_rows(inputs, attention, self.longest)
        by_itself = self._by_itself(read, dtype)

        def work(inputs: Tensor, attention: Tensor | None = None) -> tuple[Tensor]:
            return (by_itself(inputs, attention),)

        key = (read.__name__, dtype, self.parameters[0].data_ptr())
        (states,) = self.eval_graphs(key, work, inputs, *(() if attention is None else (attention,)))
        return states[:rows, :length]

    def _serves(self, inputs: Tensor) -> bool:
        return inputs.device.type == self.kind and inputs.shape[0] * inputs.shape[1] * self.weights < _BUSY

    def _graph_for(
        self, read: Read, inputs: Tensor, attention: Tensor | None, parameters: Sequence[nn.Parameter]
    ) -> EncoderGraph | None:
        shape = rounded(inputs.shape, self.longest, self.step) if attention is not None else tuple(inputs.shape)
        dtype = torch.get_autocast_dtype(self.kind) if torch.is_autocast_enabled(self.kind) else None
        kind = (
            *(read.__name__, shape[2:], inputs.dtype, inputs.requires_grad, attention is None, dtype),
            *(self.encoder.model.training, self.parameters[0].data_ptr(), *map(id, parameters)),
        )
        taken = {each.slot.number for graphs in self.graphs.values() for each in graphs if each.busy}
        free = self._smallest(kind, shape, taken, attention is not None)
        key = (kind, shape)
        if free is not None or key in self.refused:
            return free
        if key not in self.seen:
            self.seen.add(key)
            return None
        if sum(other == kind for other, _ in self.refused) >= _ATTEMPTS or not self._has_room():
            return None
        try:
            buffers = _buffers(shape, inputs, attention)
            slot = self._slot(next(number for number in count() if number not in taken))
            graph = self.capture(self.encoder.model, self._by_itself(read, dtype), *buffers, parameters, slot)
        except RuntimeError as failure:
            self.refused[key] = str(failure)
            return None
        self.graphs.setdefault(kind, []).append(graph)
        return graph

    def _smallest(self, kind: Kind, shape: Sequence[int], taken: Collection[int], padded: bool) -> EncoderGraph | None:
        """The smallest graph that fits; full rows need their own shape."""
        rows, pieces = shape[:2]
        most = rows * pieces * (self.waste if padded else 1)
        fitting = [
            (all_rows * length, graph)
            for graph in self.graphs.get(kind, [])
            for all_rows, length in [graph.inputs.shape[:2]]
            if graph.slot.number not in taken and all_rows >= rows and length >= pieces and all_rows * length <= most
        ]
        return min(fitting, key=lambda each: each[0])[1] if fitting else None

    def _slot(self, number: int) -> Slot:
        while len(self.slots) <= number:
            self.slots.append((Slot.on_gpu if self.kind == "cuda" else Slot)(len(self.slots)))
        return self.slots[number]

    def _has_room(self) -> bool:
        count = sum(map(len, self.graphs.values()))
        if count >= self.most:
            return False
        if self.kind != "cuda":
            return True
        if self.pause:  # asking is slow
            self.pause -= 1
            return False
        free, total = torch.cuda.mem_get_info()
        unused = torch.cuda.memory_reserved() - torch.cuda.memory_allocated() - self.taken
        due = count >= 2 * self.tidied if free > FREE * total else True
        if free < _TIGHT * total and unused > _MUCH and due:
            torch.cuda.empty_cache()
            self.tidied = max(1, count)
            free, total = torch.cuda.mem_get_info()
        has = self.taken < _SHARE * total and free > FREE * total
        self.pause = 0 if has else _PAUSE
        return has

    def _by_itself(self, read: Read, dtype: torch.dtype | None) -> Read:
        """The pass with its own cast of the weights, since autocast's cache ends with a step."""

        def work(inputs: Tensor, attention: Tensor | None) -> Tensor:
            if dtype is None:
                return read(inputs, attention)
            with torch.autocast(self.kind, dtype, cache_enabled=False), self.cast(dtype):
                return read(inputs, attention)

        return work


def _buffers(shape: Sequence[int], inputs: Tensor, attention: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """The input buffers of a graph."""
    rows = inputs.new_zeros(tuple(shape)).requires_grad_(inputs.requires_grad)
    if attention is None:
        return rows, None
    read = attention.new_ones(tuple(shape[:2]))
    read[:, -1] = 0  # so that kernels for padded rows are captured
    return rows, read
