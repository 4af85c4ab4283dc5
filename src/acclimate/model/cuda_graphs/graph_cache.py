"""Work that a GPU replays as a CUDA graph: captured once, then started with a single call.

Many small kernels cost the CPU longer to launch than the GPU needs to run them. Captured, they are launched at once.
"""

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
_broken: list[torch.cuda.CUDAGraph] = []  # captures that broke off: the allocator may still know their memory


@dataclass
class GraphMemory:
    """A memory pool for graphs of which only one runs at a time, and the stream on which they are captured.

    There is one stream for all: the allocator finds freed memory again on its own stream only.
    """

    pool: Any = None
    stream: Any = None

    @classmethod
    def on_gpu(cls) -> GraphMemory:
        return cls(torch.cuda.graph_pool_handle(), _stream(torch.cuda.current_device()))

    def take_new_pool(self) -> None:
        """A capture broke off: the old pool may wait for its end."""
        self.pool = torch.cuda.graph_pool_handle()


@cache
def _stream(device: int) -> Any:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


@contextmanager
def on_side_stream(memory: GraphMemory) -> Iterator[None]:
    """Inside, work runs on the memory's stream; others wait for it."""
    memory.stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(memory.stream):
        yield
    torch.cuda.current_stream().wait_stream(memory.stream)


@contextmanager
def capturing(graph: torch.cuda.CUDAGraph, pool: Any) -> Iterator[None]:
    """`torch.cuda.graph` without emptying the allocator's cache, which the next step would have to fill again."""
    collecting = gc.isenabled()
    gc.disable()  # memory that is freed during the capture would spoil it
    try:
        torch.cuda.synchronize()
        # what other threads ask of the GPU meanwhile (they prepare batches) is no business of the capture
        graph.capture_begin(pool, "thread_local")
        try:
            yield
        except BaseException:
            with suppress(RuntimeError):  # the cause is what counts, not its echo
                _end(graph, pool)
            raise
        _end(graph, pool)
    finally:
        if collecting:
            gc.enable()


def _end(graph: torch.cuda.CUDAGraph, pool: Any) -> None:
    """A broken capture may fail before the allocator hears of its end. Its cache would then never be emptied again."""
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
    """A broken capture leaves the random number generator waiting for its end. One that succeeds is that end."""
    memory = GraphMemory.on_gpu()
    with suppress(RuntimeError), on_side_stream(memory):
        number = torch.zeros(1, device="cuda")
        with capturing(torch.cuda.CUDAGraph(), memory.pool):
            number.add_(1)


@dataclass(frozen=True)
class ForwardGraph:
    """A captured forward pass, where it reads from, and where it writes to."""

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
    """A graph of `work(*inputs)`, or why there is none: something in it asks the GPU for an answer."""
    buffers = tuple(tensor.clone() for tensor in inputs)
    graph = torch.cuda.CUDAGraph()
    try:
        with on_side_stream(memory):
            for _ in range(2):  # libraries choose their kernels in the first calls, which cannot be captured
                work(*buffers)
            with capturing(graph, memory.pool):
                outputs = work(*buffers)
    except RuntimeError as failure:
        reset_after_failure()
        memory.take_new_pool()
        return str(failure)
    return ForwardGraph(graph, buffers, outputs)


class _User:
    """Lives as long as somebody may ask for the gradient."""


@dataclass
class GradientGraph:
    """The buffers of a captured forward and backward pass. Its memory is its own: other graphs run between the two."""

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
    """On a GPU. A RuntimeError says why it cannot be done: something asks the GPU for an answer on the way."""
    buffers = tuple(tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in inputs)
    forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    memory = GraphMemory.on_gpu()
    try:
        with on_side_stream(memory):
            for _ in range(2):  # libraries choose their kernels in the first calls, which cannot be captured
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
    # kept for another replay, or what lies between would be written over on the way back
    gradients = iter(torch.autograd.grad(output, wanted, gradient, retain_graph=True, allow_unused=True))
    return tuple(next(gradients) if tensor.requires_grad else None for tensor in inputs)


class GraphCache:
    """Work on tensors of a few shapes, with one CUDA graph for each key and shape.

    Elsewhere than on a GPU, and beyond `most` graphs, the work is done as usual. With `on_second_use` a shape is
    captured when it comes for the second time, which spares many graphs where shapes vary. Called, the cache does work
    without gradient; `with_gradient` is for the other.
    """

    def __init__(self, most: int = 4, on_second_use: bool = False) -> None:
        self.most, self.on_second_use = most, on_second_use  # each graph keeps its inputs and outputs
        self.graphs: dict[tuple[object, ...], ForwardGraph | str] = {}
        self.seen: set[tuple[object, ...]] = set()
        self.gradient_graphs: dict[tuple[object, ...], list[GradientGraph]] = {}
        self.refused: dict[tuple[object, ...], str] = {}
        self.memory: GraphMemory | None = None

    def __call__(
        self, key: tuple[object, ...], work: Callable[..., tuple[Tensor, ...]], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        """`work(*inputs)`. The key tells apart what the shapes do not."""
        if inputs[0].device.type != "cuda" or torch.is_grad_enabled():
            return work(*inputs)
        key = (*key, *_kinds(inputs))
        if key not in self.graphs:
            if not self._is_worth_it(key):
                return work(*inputs)
            self.memory = self.memory or GraphMemory.on_gpu()
            self.graphs[key] = capture(work, inputs, self.memory)  # one that failed is not tried again
        graph = self.graphs[key]
        return work(*inputs) if isinstance(graph, str) else graph.replay(inputs)

    def with_gradient(self, key: tuple[object, ...], work: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        """`work(*inputs)`, a single tensor, and the way back from it to those inputs that need a gradient."""
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
        """A new step begins: nobody asks for a gradient of the last one's work any more."""
        for graphs in self.gradient_graphs.values():
            for each in graphs:
                each.user = None

    def _is_worth_it(self, key: tuple[object, ...]) -> bool:
        is_new = self.on_second_use and key not in self.seen
        self.seen.add(key)
        count = len(self.graphs) + sum(map(len, self.gradient_graphs.values()))
        return not is_new and count < self.most and self._failures(key[0]) < _ATTEMPTS and has_room()

    def _failures(self, name: object) -> int:
        """Of work of this name: what cannot be captured in one shape cannot be in others, and each attempt is slow."""
        broken = (key for key, graph in self.graphs.items() if isinstance(graph, str))
        return sum(key[0] == name for key in (*broken, *self.refused))

    def __deepcopy__(self, memo: Any) -> GraphCache:
        """A graph reads and writes buffers of its own: a copy begins anew."""
        return GraphCache(self.most, self.on_second_use)


def _kinds(inputs: Sequence[Tensor]) -> Iterator[object]:
    """What graphs must agree in. Memory of an inference is no good outside of one."""
    yield torch.is_inference_mode_enabled()
    for tensor in inputs:
        yield tuple(tensor.shape), tensor.dtype
