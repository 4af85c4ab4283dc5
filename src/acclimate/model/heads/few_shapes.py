"""Sentences of any number and length as work of few shapes, so that a GPU can replay it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from torch import Tensor
from torch.nn.functional import pad

from acclimate.model.recorded import Recorded

Result = TypeVar("Result")

_STEP = 8  # sentences and words are rounded up to multiples of this


def in_few_shapes(
    by: Recorded,
    name: str,
    work: Callable[..., tuple[Tensor, ...]],
    scores: Tensor,
    transitions: Tensor,
    mask: Tensor,
    start: Tensor | None,
    end: Tensor | None,
) -> tuple[Tensor, ...]:
    """The work on sentences to which others without words are added, and padding; results of the first ones alone. They
    may be longer than the sentences. What is what: `linear_chain`."""
    whole = _without_absent(work, start, end)
    key = (name, start is None, end is None, scores.device)
    given = _widened(scores, transitions, mask, start, end)
    return tuple(found[: len(scores)] for found in by(key, whole, *given))


def in_few_shapes_with_gradient(
    by: Recorded,
    name: str,
    work: Callable[..., Tensor],
    scores: Tensor,
    transitions: Tensor,
    mask: Tensor,
    start: Tensor | None,
    end: Tensor | None,
) -> Tensor:
    """The same for work with a single result, from which a gradient comes back."""
    whole = _without_absent(work, start, end)
    key = (name, start is None, end is None, scores.device)
    return by.with_gradient(key, whole, *_widened(scores, transitions, mask, start, end))[: len(scores)]


def _widened(
    scores: Tensor, transitions: Tensor, mask: Tensor, start: Tensor | None, end: Tensor | None
) -> tuple[Tensor, ...]:
    more, wider = (-size % _STEP for size in scores.shape[:2])
    ends = (tensor for tensor in (start, end) if tensor is not None)
    return pad(scores, (0, 0, 0, wider, 0, more)), transitions, pad(mask, (0, wider, 0, more)), *ends


def _without_absent(work: Callable[..., Result], start: Tensor | None, end: Tensor | None) -> Callable[..., Result]:
    """The work on tensors alone."""

    def whole(scores: Tensor, transitions: Tensor, mask: Tensor, *ends: Tensor) -> Result:
        given = iter(ends)
        first = None if start is None else next(given)
        return work(scores, transitions, mask, first, None if end is None else next(given))

    return whole
