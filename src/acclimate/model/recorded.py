"""Work that a GPU replays by itself: recorded once, then started with a single call.

Many small steps cost the CPU longer to ask for than the GPU needs to do them. Recorded, they are asked for at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from acclimate.model.late_number import LateNumber
from acclimate.model.recorded_both_ways import BothWays, record_both_ways
from acclimate.model.recording_memory import Memory, aside, capturing, clear, has_room

_TRIES = 3  # at recording work of one name
_AT_ONCE = 2  # recordings of one kind, where several are between forward and backward


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


def record(work: Callable[..., tuple[Tensor, ...]], inputs: Sequence[Tensor], memory: Memory) -> Recording | str:
    """A recording of `work(*inputs)`, or why there is none: something in it asks the GPU for an answer."""
    kept = tuple(tensor.clone() for tensor in inputs)
    graph = torch.cuda.CUDAGraph()
    try:
        with aside(memory):
            for _ in range(2):  # libraries choose their kernels in the first calls, which cannot be recorded
                work(*kept)
            with capturing(graph, memory.pool):
                outputs = work(*kept)
    except RuntimeError as failure:
        clear()
        memory.leave()
        return str(failure)
    return Recording(graph, kept, outputs)


class Recorded:
    """Work on tensors of a few shapes. On a GPU it is recorded, once for each key; elsewhere, and when there are more
    kinds of it than `most`, it is done as usual. What comes in many shapes is not recorded before it is asked for again
    (`again`). Called, it does work without gradient; `with_gradient` is for the other."""

    def __init__(self, most: int = 4, again: bool = False) -> None:
        self.most, self.again = most, again  # each recording keeps what it reads and gives
        self.recordings: dict[tuple[object, ...], Recording | str] = {}
        self.met: set[tuple[object, ...]] = set()
        self.graded: dict[tuple[object, ...], list[BothWays]] = {}
        self.refused: dict[tuple[object, ...], str] = {}
        self.memory: Memory | None = None
        self.late = LateNumber()  # for work that depends on a number

    def __call__(
        self, key: tuple[object, ...], work: Callable[..., tuple[Tensor, ...]], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        """`work(*inputs)`. The key tells apart what the shapes do not."""
        if inputs[0].device.type != "cuda" or torch.is_grad_enabled():
            return work(*inputs)
        key = (*key, *_kinds(inputs))
        if key not in self.recordings:
            if not self._is_worth_it(key):
                return work(*inputs)
            self.memory = self.memory or Memory.on_gpu()
            self.recordings[key] = record(work, inputs, self.memory)  # one that failed is not tried again
        recording = self.recordings[key]
        return work(*inputs) if isinstance(recording, str) else recording.replay(inputs)

    def with_gradient(self, key: tuple[object, ...], work: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        """`work(*inputs)`, a single tensor, and the way back from it to those inputs that need a gradient."""
        learns = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs)
        if inputs[0].device.type != "cuda" or not learns:
            return work(*inputs)
        key = (*key, *_kinds(inputs), *(tensor.requires_grad for tensor in inputs))
        made = self.graded.setdefault(key, [])
        free = next((each for each in made if not each.busy), None)
        if free is None and len(made) < _AT_ONCE and key not in self.refused and self._is_worth_it(key):
            try:
                free = record_both_ways(work, inputs)
                made.append(free)
            except RuntimeError as failure:
                self.refused[key] = str(failure)
        return work(*inputs) if free is None else free.replay(inputs)

    def release(self) -> None:
        """A new step begins: nobody asks for a gradient of the last one's work any more."""
        for made in self.graded.values():
            for each in made:
                each.user = None

    def _is_worth_it(self, key: tuple[object, ...]) -> bool:
        fresh = self.again and key not in self.met
        self.met.add(key)
        count = len(self.recordings) + sum(map(len, self.graded.values()))
        return not fresh and count < self.most and self._failures(key[0]) < _TRIES and has_room()

    def _failures(self, name: object) -> int:
        """Of work of this name: what cannot be recorded in one shape cannot be in others, and to try takes time."""
        broken = (key for key, found in self.recordings.items() if isinstance(found, str))
        return sum(key[0] == name for key in (*broken, *self.refused))

    def __deepcopy__(self, memo: Any) -> Recorded:
        """A recording reads and writes places of its own: a copy begins anew."""
        return Recorded(self.most, self.again)


def _kinds(inputs: Sequence[Tensor]) -> Iterator[object]:
    """What recordings must agree in. Memory of an inference is no good outside of one."""
    yield torch.is_inference_mode_enabled()
    for tensor in inputs:
        yield tuple(tensor.shape), tensor.dtype
