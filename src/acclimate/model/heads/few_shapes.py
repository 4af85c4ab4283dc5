"""Sentences of any number and length as work of few shapes, so that a GPU can replay it."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from acclimate.model.recorded import Recorded

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
    sentences, words, tags = scores.shape
    rows, width = (-(-size // _STEP) * _STEP for size in (sentences, words))
    fuller = scores.new_zeros(rows, width, tags)
    fuller[:sentences, :words] = scores
    inside = mask.new_zeros(rows, width)
    inside[:sentences, :words] = mask
    ends = [tensor for tensor in (start, end) if tensor is not None]

    def whole(scores: Tensor, transitions: Tensor, mask: Tensor, *ends: Tensor) -> tuple[Tensor, ...]:
        given = iter(ends)
        first = None if start is None else next(given)
        return work(scores, transitions, mask, first, None if end is None else next(given))

    key = (name, start is None, end is None, scores.device)
    return tuple(found[:sentences] for found in by(key, whole, fuller, transitions, inside, *ends))
