"""Reading without dropout for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Inside, nothing is dropped; afterwards the module is in the mode it was in. Walks through all of its parts."""
    training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(training)
