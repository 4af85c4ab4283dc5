"""Whatever a stage can train: a tagger, or an encoder that only reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

from acclimate.data.batches import SOURCE
from acclimate.model.encoders.encoder import Encoder
from acclimate.model.view import TextView


class Learner(nn.Module):
    """An encoder and what stands on it. The loop asks for no more than this."""

    encoder: Encoder

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def encoders(self) -> list[Encoder]:
        """Every encoder in it."""
        return [self.encoder]

    def view(self, part: Any, domain: str = SOURCE) -> TextView:
        """One domain's part of a batch as this learner sees it, on its own device."""
        raise NotImplementedError


_GUARD = threading.Lock()
_READERS: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()  # of modules that would be training without them


@contextmanager
def eval_mode(learner: nn.Module) -> Iterator[None]:
    """Evaluation mode for a while, then back to what it was: scoring in mid-training must leave no trace.

    Several threads may read with the same learner, or with learners that share parts. A module goes back to training
    when the last of them is done, and not before.
    """
    with _GUARD:
        held = [module for module in learner.modules() if module.training or module in _READERS]
        for module in held:
            _READERS[module] = _READERS.get(module, 0) + 1
            module.training = False
    try:
        yield
    finally:
        with _GUARD:
            for module in held:  # one by one: a part that sleeps through training must not be woken
                _READERS[module] -= 1
                if not _READERS[module]:
                    del _READERS[module]
                    module.training = True
