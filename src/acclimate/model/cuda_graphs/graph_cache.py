"""CUDA graphs: work on a GPU that is captured once, and then started with a single call."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

FREE = 0.15  # share of the GPU's memory that graphs leave to other work
_ATTEMPTS = 3  # at capturing work of one name
_AT_ONCE = 2  # graphs of one kind, where several are between forward and backward
_broken: list[torch.cuda.CUDAGraph] = []  # the allocator may still know their memory


@dataclass
class GraphMemory:
    """A memory pool for graphs of which only one runs at a time, and the stream on which all graphs are captured."""

    pool: Any = None
    stream: Any = None

    @classmethod
    def on_gpu(cls) -> GraphMemory:
        return cls(torch.cuda.graph_pool_handle(), _stream(torch.cuda.current_device()))


@cache
def _stream(device: int) -> Any:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


@contextmanager
def on_side_stream(memory: GraphMemory) -> Iterator[None]:
    """Inside, work runs on the memory's stream."""
    memory.stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(memory.stream):
        yield
    torch.cuda.current_stream().wait_stream(memory.stream)


@contextmanager
def capturing(graph: torch.cuda.CUDAGraph, pool: Any) -> Iterator[None]:
    """`torch.cuda.graph`, but the allocator keeps its cache."""
    collecting = gc.isenabled()
    gc.disable()  # freeing memory would spoil the capture
    try:
        torch.cuda.synchronize()
        # thread-local: other threads may use the GPU meanwhile
        graph.capture_begin(pool, "thread_local")
        try:
            yield
        except BaseException:
            with suppress(RuntimeError):
                _end(graph, pool)
            raise
        _end(graph, pool)
    finally:
        if collecting:
            gc.enable()


def _end(graph: torch.cuda.CUDAGraph, pool: Any) -> None:
    """End a capture; if it is broken, tell the allocator, or its cache would never be emptied again."""
    try:
        graph.capture_end()
    except RuntimeError:
        _broken.append(graph)
        device, inside = torch.cuda.current_device(), torch._C
        with suppress(RuntimeError):  # it knows already
            inside._cuda_endAllocateToPool(device, pool)
            inside._cuda_releasePool(device, pool)
        raise


def has_room() -> bool:
    """Whether enough of the GPU's memory is free for one more graph."""
    free, total = torch.cuda.mem_get_info()
    return free > FREE * total


def reset_after_failure() -> None:
    """Make a capture that succeeds: after a broken one, the random number generator waits for it."""
    memory = GraphMemory.on_gpu()
    with suppress(RuntimeError), on_side_stream(memory):
        number = torch.zeros(1, device="cuda")
        with capturing(torch.cuda.CUDAGraph(), memory.pool):
            number.add_(1)


@dataclass(frozen=True)
class ForwardGraph:
    """A captured forward pass with its buffers."""

    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    def replay(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        for buffer, tensor in zip(self.inputs, inputs, strict=True):
            buffer.copy_(tensor)
        self.graph.replay()
        return tuple(output.clone() for output in self.outputs)  # the next replay writes there again


def capture(
    work: Callable[..., tuple[Tensor, ...]], inputs: Sequence[Tensor], memory: GraphMemory
) -> ForwardGraph | str:
    """A graph of `work(*inputs)`, or why there is none: the work waits for the GPU."""
    buffers = tuple(tensor.clone() for tensor in inputs)
    graph = torch.cuda.CUDAGraph()
    try:
        with on_side_stream(memory):
            for _ in range(2):  # the first calls choose kernels, which cannot be captured
                work(*buffers)
            with capturing(graph, memory.pool):
                outputs = work(*buffers)
    except RuntimeError as failure:
        reset_after_failure()
        memory.pool = torch.cuda.graph_pool_handle()  # the old one may wait for the end of the capture
        return str(failure)
    return ForwardGraph(graph, buffers, outputs)


class _User:
    """Lives as long as somebody may ask for the gradient."""


@dataclass
class GradientGraph:
    """A captured forward and backward pass with memory of its own."""

    inputs: tuple[Tensor, ...]
    output: Tensor
    gradient: Tensor  # of the loss by the output
    gradients: tuple[Tensor | None, ...]  # by the inputs
    forward: Callable[[], None]
    backward: Callable[[], None]
    replays: int = 0
    user: weakref.ref[_User] | None = None

    @property
    def busy(self) -> bool:
        return self.user is not None and self.user() is not None

    def replay(self, inputs: Sequence[Tensor]) -> Tensor:
        output: Tensor = _Replay.apply(self, *inputs)  # type: ignore[no-untyped-call]
        return output


class _Replay(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, graph: GradientGraph, *inputs: Tensor) -> Tensor:
        for buffer, tensor in zip(graph.inputs, inputs, strict=True):
            buffer.copy_(tensor)
        graph.forward()
        graph.replays += 1
        context.graph, context.replay, context.user = graph, graph.replays, _User()
        graph.user = weakref.ref(context.user)
        return graph.output.clone()

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        graph: GradientGraph = context.graph
        if graph.replays != context.replay:
            raise RuntimeError(
                "A gradient was asked for a second time, and its memory has been used again. "
                "With training.cuda_graphs=false it is kept."
            )
        graph.gradient.copy_(gradient)
        graph.backward()
        return None, *(None if each is None else each.clone() for each in graph.gradients)


def capture_with_gradient(work: Callable[..., Tensor], inputs: Sequence[Tensor]) -> GradientGraph:
    """On a GPU. A RuntimeError says why it cannot be done."""
    buffers = tuple(tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in inputs)
    forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    memory = GraphMemory.on_gpu()
    try:
        with on_side_stream(memory):
            for _ in range(2):  # the first calls choose kernels, which cannot be captured
                output = work(*buffers)
                gradient = torch.zeros_like(output)
                gradients_of(output, gradient, buffers)
            with capturing(forward, memory.pool):
                output = work(*buffers)
            with capturing(backward, memory.pool):
                gradients = gradients_of(output, gradient, buffers)
    except RuntimeError:
        reset_after_failure()
        raise
    return GradientGraph(buffers, output.detach(), gradient, gradients, forward.replay, backward.replay)


def gradients_of(output: Tensor, gradient: Tensor, inputs: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    """By each input; None for those that need none."""
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    gradients = iter(torch.autograd.grad(output, wanted, gradient, retain_graph=True, allow_unused=True))
    return tuple(next(gradients) if tensor.requires_grad else None for tensor in inputs)


class GraphCache:
    """One CUDA graph for each key and shape, up to `most`, on the first or second use; other work is done as usual.
    A call does work without gradient."""

    def __init__(self, most: int = 4, on_second_use: bool = False) -> None:
        self.most, self.on_second_use = most, on_second_use
        self.graphs: dict[tuple[object, ...], ForwardGraph | str] = {}
        self.seen: set[tuple[object, ...]] = set()
        self.gradient_graphs: dict[tuple[object, ...], list[GradientGraph]] = {}
        self.refused: dict[tuple[object, ...], str] = {}
        self.memory: GraphMemory | None = None

    def __call__(
        self, key: tuple[object, ...], work: Callable[..., tuple[Tensor, ...]], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        """`work(*inputs)`; the key names the work."""
        if inputs[0].device.type != "cuda" or torch.is_grad_enabled():
            return work(*inputs)
        key = (*key, *_kinds(inputs))
        if key not in self.graphs:
            if not self._is_worth_it(key):
                return work(*inputs)
            self.memory = self.memory or GraphMemory.on_gpu()
            self.graphs[key] = capture(work, inputs, self.memory)
        graph = self.graphs[key]
        return work(*inputs) if isinstance(graph, str) else graph.replay(inputs)

    def with_gradient(self, key: tuple[object, ...], work: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        """`work(*inputs)`, a single tensor, with a gradient by the inputs that need one."""
        learns = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs)
        if inputs[0].device.type != "cuda" or not learns:
            return work(*inputs)
        key = (*key, *_kinds(inputs), *(tensor.requires_grad for tensor in inputs))
        graphs = self.gradient_graphs.setdefault(key, [])
        free = next((each for each in graphs if not each.busy), None)
        if free is None and len(graphs) < _AT_ONCE and key not in self.refused and self._is_worth_it(key):
            try:
                free = capture_with_gradient(work, inputs)
                graphs.append(free)
            except RuntimeError as failure:
                self.refused[key] = str(failure)
        return work(*inputs) if free is None else free.replay(inputs)

    def release(self) -> None:
        """A new step begins: no gradient of the last one is needed any more."""
        for graphs in self.gradient_graphs.values():
            for each in graphs:
                each.user = None

    def _is_worth_it(self, key: tuple[object, ...]) -> bool:
        is_new = self.on_second_use and key not in self.seen
        self.seen.add(key)
        count = len(self.graphs) + sum(map(len, self.gradient_graphs.values()))
        broken = (other for other, graph in self.graphs.items() if isinstance(graph, str))
        failures = sum(other[0] == key[0] for other in (*broken, *self.refused))  # of work of this name
        return not is_new and count < self.most and failures < _ATTEMPTS and has_room()

    def __deepcopy__(self, memo: Any) -> GraphCache:
        return GraphCache(self.most, self.on_second_use)


def _kinds(inputs: Sequence[Tensor]) -> Iterator[object]:
    """What graphs must agree in."""
    yield torch.is_inference_mode_enabled()
    for tensor in inputs:
        yield tuple(tensor.shape), tensor.dtype
