"""A layer that lets everything pass and turns the gradient round (Ganin et al. 2016)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def reverse_gradient(features: Tensor, strength: float) -> Tensor:
    """The features as they are; the gradient that comes back to them is multiplied by -strength.

    What stands above goes on making its loss small, what stands below makes the same loss large. So the loss is added
    to the others: whoever subtracts it besides turns the gradient round twice.
    """
    reversed_: Tensor = _Reversal.apply(features, strength)  # type: ignore[no-untyped-call]
    return reversed_


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return features.view_as(features)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * gradient, None
