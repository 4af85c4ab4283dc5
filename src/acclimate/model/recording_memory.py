"""Where a GPU's recordings have their memory, and how one is made without disturbing others."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

FREE = 0.15  # of the GPU's memory, that recordings leave: other work is done there, too
_broken: list[torch.cuda.CUDAGraph] = []  # recordings that broke off: the allocator may still know their places


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
def capturing(graph: torch.cuda.CUDAGraph, pool: Any) -> Iterator[None]:
    """`torch.cuda.graph` without emptying the allocator's cache, which the next step would have to fill again."""
    collecting = gc.isenabled()
    gc.disable()  # memory that is let go of in mid-recording would spoil it
    try:
        torch.cuda.synchronize()
        # what other threads ask of the GPU meanwhile (they prepare batches) is no business of the recording
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
    """A recording that broke off may end with an error before the allocator has been told that it has ended: then its
    cache would never be emptied again."""
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
    """Whether enough of the GPU's memory is free for one more recording."""
    free, total = torch.cuda.mem_get_info()
    return free > FREE * total


def clear() -> None:
    """A recording that broke off leaves the generator of random numbers waiting for its end: one that succeeds is that
    end."""
    memory = Memory.on_gpu()
    with suppress(RuntimeError), aside(memory):
        number = torch.zeros(1, device="cuda")
        with capturing(torch.cuda.CUDAGraph(), memory.pool):
            number.add_(1)
