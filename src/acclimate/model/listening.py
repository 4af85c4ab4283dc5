"""Reading without dropout for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def listening(learner: nn.Module) -> Iterator[None]:
    """Evaluation mode for a while, then back to what it was: scoring in mid-training must leave no trace."""
    modes = [(module, module.training) for module in learner.modules()]
    learner.eval()
    try:
        yield
    finally:
        for module, mode in modes:  # one by one: a part that sleeps through training must not be woken
            module.training = mode
