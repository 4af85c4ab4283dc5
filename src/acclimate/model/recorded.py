"""Work that a GPU replays by itself: recorded once, then started with a single call.

Many small steps cost the CPU longer to ask for than the GPU needs to do them. Recorded, they are asked for at once.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from acclimate.model.late_number import LateNumber


@dataclass(frozen=True)
class Recording:
    """What was recorded, where it reads from, and where it writes to."""

    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    def replay(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        for place, tensor in zip(self.inputs, inputs, strict=True):
            place.copy_(tensor)
        self.graph.replay()
        return tuple(output.clone() for output in self.outputs)  # the next replay writes there again


@dataclass
class Memory:
    """What recordings share of which only one is in use at a time: whatever lies between what they read and what they
    give is written anew by each. A stream goes with it, one for all: memory that was let go of is found again on its
    own stream alone."""

    pool: Any = None
    stream: Any = None

    @classmethod
    def on_gpu(cls) -> Memory:
        return cls(torch.cuda.graph_pool_handle(), _stream(torch.cuda.current_device()))

    def leave(self) -> None:
        """A recording broke off: the pool may wait for its end."""
        self.pool = torch.cuda.graph_pool_handle()


@cache
def _stream(device: int) -> Any:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


@contextmanager
def aside(memory: Memory) -> Iterator[None]:
    """Inside, work is done on the memory's stream; others wait for it."""
    memory.stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(memory.stream):
        yield
    torch.cuda.current_stream().wait_stream(memory.stream)


@contextmanager
def capturing(graph: torch.cuda.CUDAGraph, pool: Any = None) -> Iterator[None]:
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


def record(work: Callable[..., tuple[Tensor, ...]], inputs: Sequence[Tensor], memory: Memory) -> Recording | str:
    """A recording of `work(*inputs)`, or why there is none: something in it asks the GPU for an answer."""
    kept = tuple(tensor.clone() for tensor in inputs)
    graph = torch.cuda.CUDAGraph()
    with aside(memory):
        for _ in range(2):  # libraries choose their kernels in the first calls, which cannot be recorded
            work(*kept)
        try:
            with capturing(graph, memory.pool):
                outputs = work(*kept)
        except RuntimeError as failure:
            memory.leave()
            return str(failure)
    return Recording(graph, kept, outputs)


class Recorded:
    """Work without gradient on tensors of a few shapes. On a GPU it is recorded, once for each key; elsewhere, and when
    there are more kinds of it than `most`, it is done as usual. What comes in many shapes is not recorded before it is
    asked for again (`again`)."""

    def __init__(self, most: int = 4, again: bool = False) -> None:
        self.most, self.again = most, again  # each recording keeps what it reads and gives
        self.recordings: dict[tuple[object, ...], Recording | str] = {}
        self.met: set[tuple[object, ...]] = set()
        self.memory: Memory | None = None
        self.late = LateNumber()  # for work that depends on a number

    def __call__(
        self, key: tuple[object, ...], work: Callable[..., tuple[Tensor, ...]], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        """`work(*inputs)`. The key tells apart what the shapes do not."""
        if inputs[0].device.type != "cuda" or torch.is_grad_enabled():
            return work(*inputs)
        key = (*key, *((tuple(tensor.shape), tensor.dtype) for tensor in inputs))
        if key not in self.recordings:
            fresh = self.again and key not in self.met
            self.met.add(key)
            if fresh or len(self.recordings) >= self.most:
                return work(*inputs)
            self.memory = self.memory or Memory.on_gpu()
            self.recordings[key] = record(work, inputs, self.memory)  # one that failed is not tried again
        recording = self.recordings[key]
        return work(*inputs) if isinstance(recording, str) else recording.replay(inputs)

    def __deepcopy__(self, memo: Any) -> Recorded:
        """A recording reads and writes places of its own: a copy begins anew."""
        return Recorded(self.most, self.again)
