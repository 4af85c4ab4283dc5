"""Which readings of an encoder in training are replayed: those of few shapes, often met, that keep the CPU busy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn

from acclimate.model.encoders.recorded_pass import Pass, Read, Slot, join, record
from acclimate.model.encoders.replayed import rounded, widened
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.narrowed import NarrowedWeights
from acclimate.model.recorded import Recorded
from acclimate.model.recording_memory import FREE

Kind = tuple[object, ...]
"""What recordings of different shapes have in common where one may do for the other."""
Record = Callable[[nn.Module, Read, Tensor, Tensor | None, Sequence[nn.Parameter], Slot], Pass]

_BUSY = 2e12  # pieces × weights: with more the GPU has work enough, and the CPU is not waited for
_LIGHT = 4e7  # weights: with fewer the GPU is far from busy, and few recordings count for more than little padding
# sizes are rounded up to multiples of the first; a recording may be as many times as large as what is read in it as the
# second says
_COARSE, _FINE = (16, 2.0), (8, 1.5)
_SHARE = 0.4  # of the GPU's memory, that recordings may take
_TIGHT = 0.4  # of it: where less is free, what plain readings before this one have left over is given back
_MUCH = 1 << 30  # bytes
_TRIES = 3  # at recording: what cannot be done in one shape cannot be in others, and to try takes time
_PAUSE = 200  # readings that are not recorded, before it is asked again whether there is room


class RecordedPasses:
    """Stands before a Transformer's reading. A shape is recorded when it is met for the second time; one that cannot
    be, or too many of them, are read as usual. Several readings of a step have a recording each, in different slots."""

    def __init__(self, encoder: Transformer, record: Record = record, most: int = 128, kind: str = "cuda") -> None:
        self.encoder, self.record, self.most, self.kind = encoder, record, most, kind
        self.narrowed = NarrowedWeights(encoder)
        self.weights = sum(parameter.numel() for parameter in encoder.model.parameters())
        self.step, self.waste = _COARSE if self.weights < _LIGHT else _FINE
        self.longest = encoder.pieces.longest
        self.made: dict[Kind, list[Pass]] = {}
        self.met: set[tuple[object, ...]] = set()
        self.slots: list[Slot] = []
        self.joined: dict[tuple[int, ...], Tensor] = {}  # in this step, by who is in it
        self.refused: dict[tuple[object, ...], str] = {}
        self.looks = Recorded(most=24, again=True)
        self.parameters = list(encoder.model.parameters())
        self.heads: list[Recorded] = []  # whose steps begin and end with these
        self.pause = 0  # readings, until there may be room again
        self.tidied = 0  # recordings there were when memory was last given back

    @property
    def taken(self) -> int:
        """Bytes of the GPU's memory."""
        return sum(slot.taken for slot in self.slots)

    def release(self) -> None:
        """A new step begins: nobody asks for a gradient of the last one's readings any more."""
        self.joined = {}
        for head in self.heads:
            head.release()
        for passes in self.made.values():
            for each in passes:
                each.busy = False

    def rest(self) -> None:
        """A stage has ended: the next one has heads and steps of its own."""
        self.release()
        self.heads = []

    def __call__(self, read: Read, inputs: Tensor, attention: Tensor | None) -> Tensor:
        if not torch.is_grad_enabled():
            return self._looked(read, inputs, attention)
        if not self._serves(inputs):
            return read(inputs, attention)
        parameters = [parameter for parameter in self.parameters if parameter.requires_grad]
        if not parameters and not inputs.requires_grad:
            return read(inputs, attention)
        found = self._pass_for(read, inputs, attention, parameters)
        if found is None:
            return read(inputs, attention)
        return found.read(inputs, attention, self._joined(found.owners, parameters))

    def _joined(self, owners: tuple[int, ...], parameters: Sequence[nn.Parameter]) -> Tensor | None:
        if owners and owners not in self.joined:
            self.joined[owners] = join([parameters[number] for number in owners])
        return self.joined.get(owners)

    def _looked(self, read: Read, inputs: Tensor, attention: Tensor | None) -> Tensor:
        """Without a gradient: a teacher's reading in every step. A learner looks at dev too seldom to be recorded."""
        learns = any(parameter.requires_grad for parameter in self.parameters)
        if learns or self.encoder.model.training or not self._serves(inputs):
            return read(inputs, attention)
        rows, length = inputs.shape[:2]
        narrow = torch.get_autocast_dtype(self.kind) if torch.is_autocast_enabled(self.kind) else None
        if attention is not None:
            inputs, attention = widened(inputs, attention, self.longest)
        by_itself = self._by_itself(read, narrow)

        def work(inputs: Tensor, attention: Tensor | None = None) -> tuple[Tensor]:
            return (by_itself(inputs, attention),)

        key = (read.__name__, narrow, self.parameters[0].data_ptr())
        (states,) = self.looks(key, work, inputs, *(() if attention is None else (attention,)))
        return states[:rows, :length]

    def _serves(self, inputs: Tensor) -> bool:
        return inputs.device.type == self.kind and inputs.shape[0] * inputs.shape[1] * self.weights < _BUSY

    def _pass_for(
        self, read: Read, inputs: Tensor, attention: Tensor | None, parameters: Sequence[nn.Parameter]
    ) -> Pass | None:
        shape = self._rounded(inputs.shape) if attention is not None else tuple(inputs.shape)
        narrow = torch.get_autocast_dtype(self.kind) if torch.is_autocast_enabled(self.kind) else None
        kind = (
            *(read.__name__, shape[2:], inputs.dtype, inputs.requires_grad, attention is None, narrow),
            *(self.encoder.model.training, self.parameters[0].data_ptr(), *map(id, parameters)),
        )
        taken = {each.slot.number for found in self.made.values() for each in found if each.busy}
        free = self._smallest(kind, shape, taken, attention is not None)
        key = (kind, shape)
        if free is not None or key in self.refused:
            return free
        if key not in self.met:
            self.met.add(key)
            return None
        if sum(other == kind for other, _ in self.refused) >= _TRIES or not self._has_room():
            return None
        try:
            places = _places(shape, inputs, attention)
            slot = self._slot(next(number for number in count() if number not in taken))
            made = self.record(self.encoder.model, self._by_itself(read, narrow), *places, parameters, slot)
        except RuntimeError as failure:
            self.refused[key] = str(failure)
            return None
        self.made.setdefault(kind, []).append(made)
        return made

    def _smallest(self, kind: Kind, shape: Sequence[int], taken: Collection[int], padded: bool) -> Pass | None:
        """The recording of which the least stays empty; rows that are full are read in their own shape alone."""
        rows, pieces = shape[:2]
        most = rows * pieces * (self.waste if padded else 1)
        fitting = [
            (all_rows * length, made)
            for made in self.made.get(kind, [])
            for all_rows, length in [made.inputs.shape[:2]]
            if made.slot.number not in taken and all_rows >= rows and length >= pieces and all_rows * length <= most
        ]
        return min(fitting, key=lambda found: found[0])[1] if fitting else None

    def _slot(self, number: int) -> Slot:
        while len(self.slots) <= number:
            self.slots.append((Slot.on_gpu if self.kind == "cuda" else Slot)(len(self.slots)))
        return self.slots[number]

    def _rounded(self, shape: torch.Size) -> tuple[int, ...]:
        return rounded(shape, self.longest, self.step)

    def _has_room(self) -> bool:
        count = sum(map(len, self.made.values()))
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

    def _by_itself(self, read: Read, narrow: torch.dtype | None) -> Read:
        """Narrows the weights anew in every reading: what autocast remembers of a step is gone in the next."""

        def work(inputs: Tensor, attention: Tensor | None) -> Tensor:
            if narrow is None:
                return read(inputs, attention)
            with torch.autocast(self.kind, narrow, cache_enabled=False), self.narrowed(narrow):
                return read(inputs, attention)

        return work

    def __deepcopy__(self, memo: Any) -> None:
        """A copied encoder has weights of its own, which these recordings do not read."""


def _places(shape: Sequence[int], inputs: Tensor, attention: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Where a recording reads from, filled with something that can be read."""
    rows = inputs.new_zeros(tuple(shape)).requires_grad_(inputs.requires_grad)
    if attention is None:
        return rows, None
    read = attention.new_ones(tuple(shape[:2]))
    read[:, -1] = 0  # so that the kernels for rows of which not all is read are the ones that are met
    return rows, read
