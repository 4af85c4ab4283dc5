"""Work that a GPU replays by itself: recorded once, then started with a single call.

Many small steps cost the CPU longer to ask for than the GPU needs to do them. Recorded, they are asked for at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


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


def record(work: Callable[..., tuple[Tensor, ...]], inputs: Sequence[Tensor]) -> Recording | str:
    """A recording of `work(*inputs)`, or why there is none: something in it asks the GPU for an answer."""
    kept = tuple(tensor.clone() for tensor in inputs)
    graph = torch.cuda.CUDAGraph()
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):  # libraries choose their kernels in the first calls, which cannot be recorded
        for _ in range(2):
            work(*kept)
    torch.cuda.current_stream().wait_stream(aside)
    try:
        with torch.cuda.graph(graph):
            outputs = work(*kept)
    except RuntimeError as failure:
        return str(failure)
    return Recording(graph, kept, outputs)


class Recorded:
    """Work without gradient on tensors of a few shapes. On a GPU it is recorded, once for each key; elsewhere, and when
    there are more kinds of it than `most`, it is done as usual. What comes in many shapes is not recorded before it is
    asked for again (`again`)."""

    def __init__(self, most: int = 4, again: bool = False) -> None:
        self.most, self.again = most, again  # each recording keeps its memory
        self.recordings: dict[tuple[object, ...], Recording | str] = {}
        self.met: set[tuple[object, ...]] = set()

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
            self.recordings[key] = record(work, inputs)  # one that failed is not tried again
        recording = self.recordings[key]
        return work(*inputs) if isinstance(recording, str) else recording.replay(inputs)

    def __deepcopy__(self, memo: Any) -> Recorded:
        """A recording reads and writes places of its own: a copy begins anew."""
        return Recorded(self.most, self.again)
