"""The one place where a step may be made faster without changing what it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from torch import Tensor, nn

if TYPE_CHECKING:
    from acclimate.model.encoders.transformer import Transformer

Result = TypeVar("Result")
Read = Callable[[Tensor, Tensor | None], Tensor]
"""Rows of pieces (row, piece) or of their embeddings (row, piece, width), and attention (row, piece) → states."""


class Acceleration:
    """How encoders and heads do their work during a step. This one just does it; `model/cuda_graphs` has others.

    It works as `torch.autocast` does: inside `step`, every pre-trained encoder and every head asks it, teachers too.
    """

    @contextmanager
    def step(self) -> Iterator[None]:
        """Around one forward call of a `TrainingStep`."""
        before = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(before)

    def states(self, encoder: Transformer, read: Read, inputs: Tensor, attention: Tensor | None) -> Tensor:
        """`read(inputs, attention)`, a pass through the encoder."""
        return read(inputs, attention)

    def chain(self, head: nn.Module, work: Callable[..., Result], *inputs: Tensor | None) -> Result:
        """`work(*inputs)`, a function of `linear_chain` with its arguments in order."""
        return work(*inputs)

    def end_stage(self, learner: nn.Module) -> None:
        """A stage is over. What belongs to the learner may be kept for the next one."""


_PLAIN = Acceleration()
_ACTIVE: ContextVar[Acceleration] = ContextVar("acceleration", default=_PLAIN)


def active_acceleration() -> Acceleration:
    """That of the step under way, or the one that does nothing."""
    return _ACTIVE.get()
