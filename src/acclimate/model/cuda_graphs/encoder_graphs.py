"""Which passes of an encoder in training run as CUDA graphs: those of common shapes that keep the CPU busy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import count

import torch
from torch import Tensor, nn

from acclimate.model.acceleration import Read
from acclimate.model.cuda_graphs.cast_weights import WeightCast
from acclimate.model.cuda_graphs.encoder_graph import EncoderGraph, Slot, capture_encoder, join
from acclimate.model.cuda_graphs.eval_states import pad_rows, rounded
from acclimate.model.cuda_graphs.graph_cache import FREE, GraphCache
from acclimate.model.encoders.transformer import Transformer

Kind = tuple[object, ...]
"""What graphs of different shapes have in common where one may do for the other."""
Capture = Callable[[nn.Module, Read, Tensor, Tensor | None, Sequence[nn.Parameter], Slot], EncoderGraph]

_BUSY = 2e12  # pieces × weights: with more the GPU has work enough, and the CPU is not waited for
_LIGHT = 4e7  # weights: with fewer the GPU is far from busy, and few graphs count for more than little padding
# sizes are rounded up to multiples of the first number; a graph may be as many times as large as its rows as the second
# says
_COARSE, _FINE = (16, 2.0), (8, 1.5)
_SHARE = 0.4  # of the GPU's memory, that graphs may take
_TIGHT = 0.4  # of it: where less is free, what plain passes have left over is given back
_MUCH = 1 << 30  # bytes
_ATTEMPTS = 3  # at capturing: what fails in one shape fails in others, and each attempt is slow
_PAUSE = 200  # passes without a graph, before it is asked again whether there is room


class EncoderGraphs:
    """The CUDA graphs of one pre-trained encoder.

    A shape is captured when it comes for the second time. What cannot be captured, and more than `most` graphs, run as
    usual. Several passes of a step have a graph each, in different slots.
    """

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
        """A new step begins: nobody asks for a gradient of the last one's passes any more."""
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
        return graph.read(inputs, attention, self._joined(graph.owners, parameters))

    def _joined(self, owners: tuple[int, ...], parameters: Sequence[nn.Parameter]) -> Tensor | None:
        if owners and owners not in self.joined:
            self.joined[owners] = join([parameters[number] for number in owners])
        return self.joined.get(owners)

    def _without_gradient(self, read: Read, inputs: Tensor, attention: Tensor | None) -> Tensor:
        """A teacher's pass in every step. A learner reads without gradient too seldom to be worth a graph."""
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
        shape = self._rounded(inputs.shape) if attention is not None else tuple(inputs.shape)
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
        """The graph of which the least stays empty. Rows that are full are read in their own shape only."""
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

    def _rounded(self, shape: torch.Size) -> tuple[int, ...]:
        return rounded(shape, self.longest, self.step)

    def _has_room(self) -> bool:
        count = sum(map(len, self.graphs.values()))
        if count >= self.most:
            return False
        if self.kind != "cuda":
            return True
        if self.pause:  # there was none just now, and to ask takes time
            self.pause -= 1
            return False
        free, total = torch.cuda.mem_get_info()
        unused = torch.cuda.memory_reserved() - torch.cuda.memory_allocated() - self.taken
        # now and then only, unless there is no room without: what is given back has to be asked for again
        due = count >= 2 * self.tidied if free > FREE * total else True
        if free < _TIGHT * total and unused > _MUCH and due:
            torch.cuda.empty_cache()
            self.tidied = max(1, count)
            free, total = torch.cuda.mem_get_info()
        has = self.taken < _SHARE * total and free > FREE * total
        self.pause = 0 if has else _PAUSE
        return has

    def _by_itself(self, read: Read, dtype: torch.dtype | None) -> Read:
        """Casts the weights anew in every pass: what autocast caches of a step is gone in the next."""

        def work(inputs: Tensor, attention: Tensor | None) -> Tensor:
            if dtype is None:
                return read(inputs, attention)
            with torch.autocast(self.kind, dtype, cache_enabled=False), self.cast(dtype):
                return read(inputs, attention)

        return work


def _buffers(shape: Sequence[int], inputs: Tensor, attention: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Where a graph reads from, filled with something that can be read."""
    rows = inputs.new_zeros(tuple(shape)).requires_grad_(inputs.requires_grad)
    if attention is None:
        return rows, None
    read = attention.new_ones(tuple(shape[:2]))
    read[:, -1] = 0  # so that the kernels for rows of which not all is read are the ones that are met
    return rows, read
