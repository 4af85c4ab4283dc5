"""AdamW and clipping with little work for the CPU: on a GPU it asks for a step as fast as the GPU makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class _Moved:
    """The parameters of a group that have a gradient, and what the optimizer remembers of each."""

    having: list[bool]  # for every parameter of the group
    parameters: list[Tensor]
    averages: list[Tensor]
    squares: list[Tensor]
    steps: list[Tensor]


class FusedAdamW(torch.optim.AdamW):
    """`torch.optim.AdamW(fused=True)`, which looks through all parameters and sorts them in every step. Here that is
    done once, and again when other parameters have a gradient or another state is loaded. The state is the same."""

    def __init__(self, groups: Sequence[dict[str, Any]], lr: float, betas: tuple[float, float]) -> None:
        self._moved: dict[int, _Moved] = {}  # by the number of the group
        super().__init__(groups, lr=lr, betas=betas, fused=True)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        found = [[parameter.grad for parameter in group["params"]] for group in self.param_groups]
        scaled = any(getattr(self, name, None) is not None for name in ("grad_scale", "found_inf"))  # by a GradScaler
        if closure is not None or scaled or not self._knows(found):
            self._moved = {}
            loss: float | None = super().step(closure)
            self._moved = {number: moved for number in range(len(found)) if (moved := self._sorted(number)) is not None}
            return loss
        for number, gradients in enumerate(found):
            self._move(self.param_groups[number], self._moved[number], [each for each in gradients if each is not None])
        return None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Also on the way of a state that is loaded."""
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._moved = {}

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        self._moved = {}
        super().add_param_group(param_group)

    def _knows(self, found: Sequence[Sequence[Tensor | None]]) -> bool:
        """Whether all that has a gradient is sorted already."""
        return len(self._moved) == len(found) and all(
            self._moved[number].having == [each is not None for each in gradients]
            for number, gradients in enumerate(found)
        )

    def _sorted(self, number: int) -> _Moved | None:
        """None where they are not of one kind on one device, which takes several calls."""
        parameters = self.param_groups[number]["params"]
        having = [parameter.grad is not None for parameter in parameters]
        moving = [parameter for parameter, has in zip(parameters, having, strict=True) if has]
        if len({(each.device, each.dtype, each.grad.dtype) for each in moving}) > 1:
            return None
        states = [self.state[parameter] for parameter in moving]
        kept = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step"))
        return _Moved(having, moving, *kept)

    def _move(self, group: dict[str, Any], moved: _Moved, gradients: list[Tensor]) -> None:
        if not gradients:
            return
        beta1, beta2 = group["betas"]
        torch._foreach_add_(moved.steps, 1)
        torch._fused_adamw_(
            moved.parameters,
            gradients,
            moved.averages,
            moved.squares,
            [],
            moved.steps,
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )


@torch.no_grad()
def clip(parameters: Sequence[nn.Parameter], most: float) -> None:
    """`clip_grad_norm_` for gradients of one kind on one device, without a look at each."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if len({(each.device, each.dtype) for each in gradients}) != 1:
        nn.utils.clip_grad_norm_(parameters, most)
        return
    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    torch._foreach_mul_(gradients, (most / (total + 1e-6)).clamp(max=1.0))
