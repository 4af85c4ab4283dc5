"""A loss whose gradient is known already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def settled(loss: Tensor, causes: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> Tensor:
    """The same number, whose gradient by its causes (parameters, or what they make) is handed over instead of computed
    a second time.

    Adversarial training asks for the gradient of the clean loss by the embeddings; the one by the parameters comes with
    it nearly for free, and going back through the network again for it would cost a third of the whole update.
    """
    hand_over: Any = _Settled.apply
    # parts of something larger may be written over before they are asked for (replayed readings share one row)
    kept = [found.clone() if found is not None and found._is_view() else found for found in gradients]
    value: Tensor = hand_over(loss.detach(), kept, *causes)
    return value


class _Settled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, loss: Tensor, gradients: list[Tensor | None], *causes: Tensor) -> Tensor:
        ctx.gradients = gradients
        return loss.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_loss: Tensor) -> tuple[Any, ...]:
        if by_loss.device.type == "cpu" and by_loss == 1:  # asked of a GPU, it would make us wait
            return None, None, *ctx.gradients
        return None, None, *(None if found is None else by_loss * found for found in ctx.gradients)
