"""A capture that breaks off leaves nothing behind: not the collector off, not the allocator or the dice waiting."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.model.cuda_graphs import graph_cache
from acclimate.model.cuda_graphs.graph_cache import GraphCache, capturing

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


class Broken:
    """A graph whose capture cannot be ended."""

    def capture_begin(self, *_: Any) -> None: ...

    def capture_end(self) -> None:
        raise RuntimeError("the capture broke off")


def test_the_collector_is_on_again_and_the_cause_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    for name in ("_cuda_endAllocateToPool", "_cuda_releasePool"):
        monkeypatch.setattr(torch._C, name, lambda *_, name=name: told.append(name), raising=False)
    monkeypatch.setattr(graph_cache, "_broken", [])
    graph: Any = Broken()
    with pytest.raises(KeyError, match="why"), capturing(graph, (0, 1)):
        raise KeyError("why" if not gc.isenabled() else "the collector is on")
    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="broke off"), capturing(graph, (0, 1)):
        pass
    assert gc.isenabled()
    assert told == 2 * ["_cuda_endAllocateToPool", "_cuda_releasePool"]


class OnGpu:
    device, dtype = torch.device("cuda"), torch.float32

    def __init__(self, *shape: int) -> None:
        self.shape = shape


def test_work_that_cannot_be_captured_is_not_tried_in_every_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []
    monkeypatch.setattr(graph_cache, "capture", lambda *_: tries.append(1) or "cannot")
    monkeypatch.setattr(graph_cache.GraphMemory, "on_gpu", object)
    monkeypatch.setattr(graph_cache, "has_room", lambda: True)
    cache = GraphCache(most=64)
    with torch.no_grad():
        for length in range(1, 9):
            tensor: Any = OnGpu(length)
            assert cache(("work",), lambda given: (given,), tensor) == (tensor,)
        assert len(tries) == 3
        cache(("other work",), lambda given: (given,), tensor)
    assert len(tries) == 4


@pytest.mark.gpu
@needs_gpu
def test_on_a_gpu_all_goes_on_after_a_capture_that_broke_off() -> None:
    def asks(given: Tensor) -> tuple[Tensor]:
        return (given * float(given.sum()),)  # an answer of the GPU's

    cache = GraphCache()
    given = torch.arange(1 << 20, device="cuda", dtype=torch.float32)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(cache(("asks",), asks, given)[0], given * given.sum())
        assert [isinstance(found, str) for found in cache.graphs.values()] == [True]
        assert gc.isenabled()
        for _ in range(3):
            torch.testing.assert_close(cache(("adds",), lambda tensor: (tensor + 1,), given)[0], given + 1)
        assert [isinstance(found, str) for found in cache.graphs.values()] == [True, False]
    torch.rand(3, device="cuda")
    large = torch.empty(1 << 28, device="cuda")
    del large
    reserved = torch.cuda.memory_reserved()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() <= reserved - (1 << 30)
