"""A number that a GPU has to compute and the CPU has to know, without the one waiting for the other."""

from __future__ import annotations

from collections import deque

import torch
from torch import Tensor

_MOST = 4  # numbers under way; then the first of them is waited for


class LateNumber:
    """What moves slowly and is asked for again and again. A GPU's answer is the newest that has arrived, that of a call
    or a few before this one; only the first call waits. On a CPU it is the number itself."""

    def __init__(self) -> None:
        self.known: float | None = None
        self.coming: deque[tuple[Tensor, torch.cuda.Event]] = deque()

    def __call__(self, number: Tensor) -> float:
        if number.device.type != "cuda":
            self.known = float(number)
            return self.known
        place = torch.empty(number.shape, dtype=number.dtype, pin_memory=True)
        place.copy_(number.detach(), non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record()
        self.coming.append((place, arrived))
        while self.coming and (self._must_wait() or self._is_here()):
            place, arrived = self.coming.popleft()
            arrived.synchronize()
            self.known = float(place)
        assert self.known is not None
        return self.known

    def _must_wait(self) -> bool:
        return self.known is None or len(self.coming) > _MOST

    def _is_here(self) -> bool:
        return bool(self.coming[0][1].query())  # type: ignore[no-untyped-call]
