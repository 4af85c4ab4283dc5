"""The entropy of many scores in one reading of them, on a GPU: torch's own steps would read and write them eight times.

Needs Triton, which comes with torch for GPUs, and the C compiler that Triton asks for.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

_AT_ONCE = 4096  # scores of one place that are in hand together
_refused: list[str] = []  # why it cannot be done here, found out at the first try


def in_one_reading(scores: Tensor) -> Tensor | None:
    """The entropies (place), from scores (place, piece of the vocabulary) in any format; None where that cannot be
    done: then the steps are taken one by one."""
    if triton is None or _refused or scores.device.type != "cuda" or not len(scores):
        return None
    try:
        return entropies(scores)
    except Exception as failure:  # no compiler, a GPU that Triton does not know, ...: slower, but as right
        _refused.append(str(failure))
        return None


def entropies(scores: Tensor) -> Tensor:
    scores = scores.contiguous()
    found = torch.empty(len(scores), device=scores.device)
    _read[(len(scores),)](scores, found, scores.stride(0), scores.shape[1], _AT_ONCE, num_warps=8)
    return found


# Triton looks up the names in annotations, and knows none but its own
def _read_row(scores, found, stride, count, at_once: tl.constexpr):  # type: ignore[no-untyped-def]
    """Triton's own language: each place is read by a program of its own."""
    place = tl.program_id(0).to(tl.int64)
    highest = float("-inf")
    total = 0.0  # of exp(score - highest)
    weighted = 0.0  # of exp(score - highest) × (score - highest)
    for start in range(0, count, at_once):
        numbers = start + tl.arange(0, at_once)
        inside = numbers < count
        some = tl.load(scores + place * stride + numbers, mask=inside, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(highest, tl.max(some, 0))
        shift = tl.where(highest == float("-inf"), 0.0, highest - higher)
        away = tl.where(inside, some - higher, 0.0)
        weights = tl.where(inside, tl.exp(away), 0.0)
        weighted = tl.exp(shift) * (weighted + total * shift) + tl.sum(weights * away, 0)
        total = tl.exp(shift) * total + tl.sum(weights, 0)
        highest = higher
    tl.store(found + place, tl.log(total) - weighted / total)


_read: Any = None if triton is None else triton.jit(_read_row)
