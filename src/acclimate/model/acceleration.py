"""The one place where a step may be made faster without changing what it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from torch import Tensor, nn

Result = TypeVar("Result")
Read = Callable[[Tensor, Tensor | None], Tensor]
"""Rows of pieces (row, piece) or of embeddings (row, piece, width), and attention (row, piece) → states."""


class Acceleration:
    """How encoders and heads do their work in a step. This one does it plainly; `model/cuda_graphs` has others."""

    @contextmanager
    def step(self) -> Iterator[None]:
        """Around one forward call of a `TrainingStep`: inside, all encoders and heads use this acceleration."""
        before = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(before)

    def run(self, module: nn.Module, work: Callable[..., Result], *inputs: Tensor | None) -> Result:
        """`work(*inputs)`: a pass of an encoder (`Read`), or a function of `linear_chain` for a head."""
        return work(*inputs)

    def end_stage(self, learner: nn.Module) -> None:
        """A stage is over; what belongs to the learner may be kept for the next one."""


_ACTIVE: ContextVar[Acceleration] = ContextVar("acceleration", default=Acceleration())  # noqa: B039


def active_acceleration() -> Acceleration:
    """That of the current step, or the plain one."""
    return _ACTIVE.get()


def accelerated(module: nn.Module, work: Callable[..., Result], *inputs: Tensor | None) -> Result:
    """`work(*inputs)`, in the way of the current step."""
    return active_acceleration().run(module, work, *inputs)
