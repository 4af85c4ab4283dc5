"""The layer norm of a sum, on a GPU without the sum ever being written down. Without gradient.

Needs Triton, which comes with torch for GPUs, and the C compiler that Triton asks for; elsewhere it is done in two
steps.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

_WIDEST = 8192  # features that a program has in hand
_refused: list[str] = []  # why it cannot be done in one step here, found out at the first try


def summed_norm(one: Tensor, other: Tensor, weight: Tensor, shift: Tensor, eps: float) -> Tensor:
    """The norm of one + other (place, feature)."""
    if triton is not None and not _refused and one.device.type == "cuda" and one.shape[1] <= _WIDEST:
        try:
            return in_one_step(one, other, weight, shift, eps)
        except Exception as failure:  # no compiler, a GPU that Triton does not know, ...: slower, but as right
            _refused.append(str(failure))
    return layer_norm(one + other, (one.shape[1],), weight, shift, eps)


def in_one_step(one: Tensor, other: Tensor, weight: Tensor, shift: Tensor, eps: float) -> Tensor:
    one, other = one.contiguous(), other.contiguous()
    found = torch.empty_like(one)
    size = triton.next_power_of_2(one.shape[1])
    _sum[(len(one),)](one, other, weight, shift, found, one.shape[1], eps, size, num_warps=4)
    return found


# Triton looks up the names in annotations, and knows none but its own
def _sum_row(one, other, weight, shift, found, count, eps, size: tl.constexpr):  # type: ignore[no-untyped-def]
    """Triton's own language: each place is a program's."""
    place = tl.program_id(0).to(tl.int64)
    numbers = tl.arange(0, size)
    inside = numbers < count
    row = place * count + numbers
    total = tl.load(one + row, mask=inside, other=0.0).to(tl.float32)
    total += tl.load(other + row, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / count
    away = tl.where(inside, total - mean, 0.0)
    scale = tl.rsqrt(tl.sum(away * away, 0) / count + eps)
    normed = away * scale * tl.load(weight + numbers, mask=inside, other=0.0).to(tl.float32)
    normed += tl.load(shift + numbers, mask=inside, other=0.0).to(tl.float32)
    tl.store(found + row, normed, mask=inside)


_sum: Any = None if triton is None else triton.jit(_sum_row)
