"""A reading of text that a GPU replays by itself: recorded once, then started with a single call.

An encoder of twelve layers is some hundred calls to the GPU, and at usual sizes making them takes the CPU longer than
the GPU needs for the work. A look that only decides what to hide should not cost that again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from acclimate.model.encoders.transformer import Transformer

_MOST = 4  # recordings; each keeps its memory


@dataclass(frozen=True)
class Recording:
    """What was recorded, where it reads from, and where it writes to."""

    graph: torch.cuda.CUDAGraph
    pieces: Tensor
    states: Tensor


@dataclass
class Replayed:
    """`Transformer.states` in evaluation mode and without gradient, for full rows of a few shapes on a GPU; anything
    else is read as usual. The weights are read where they stand, so that it follows the training.

    A recording that fails is not tried again for that shape.
    """

    recordings: dict[tuple[object, ...], Recording | None] = field(default_factory=dict)

    def __call__(self, encoder: Transformer, pieces: Tensor, attention: Tensor | None) -> Tensor:
        kind = pieces.device.type
        if kind != "cuda" or attention is not None or encoder.training or torch.is_grad_enabled():
            return encoder.states(pieces, attention)
        narrow = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        first = next(encoder.parameters())
        key = (tuple(pieces.shape), narrow, first.data_ptr())  # other weights, another recording
        if key not in self.recordings:
            if len(self.recordings) >= _MOST:
                return encoder.states(pieces)
            self.recordings[key] = _recorded(encoder, pieces)
        recording = self.recordings[key]
        if recording is None:
            return encoder.states(pieces)
        recording.pieces.copy_(pieces)
        recording.graph.replay()
        return recording.states.clone()  # the next replay writes there again


def _recorded(encoder: Transformer, pieces: Tensor) -> Recording | None:
    kept = pieces.clone()
    graph = torch.cuda.CUDAGraph()
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):  # libraries choose their kernels in the first calls, which cannot be recorded
        for _ in range(2):
            encoder.states(kept)
    torch.cuda.current_stream().wait_stream(aside)
    try:
        with torch.cuda.graph(graph):
            states = encoder.states(kept)
    except RuntimeError:  # something in this encoder asks the GPU for an answer
        return None
    return Recording(graph, kept, states)
