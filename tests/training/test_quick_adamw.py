"""The quick AdamW moves as torch's does, whoever has a gradient, and clips as torch does."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn

from acclimate.training.optimizers import FusedAdamW, clip

SHAPES = ((3, 4), (5,), (2, 2), (7,))


def parameters() -> list[nn.Parameter]:
    dice = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=dice)) for shape in SHAPES]


def groups(own: list[nn.Parameter]) -> list[dict[str, Any]]:
    return [{"params": own[:2], "weight_decay": 0.1, "times": 1.0}, {"params": own[2:], "weight_decay": 0.0}]


def quick(own: list[nn.Parameter]) -> torch.optim.Optimizer:
    return FusedAdamW(groups(own), lr=0.01, betas=(0.8, 0.99))


def usual(own: list[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(groups(own), lr=0.01, betas=(0.8, 0.99), fused=True)


def move(
    own: list[nn.Parameter], optimizer: torch.optim.Optimizer, updates: range, missing: Callable[[int], set[int]]
) -> None:
    for update in updates:
        dice = torch.Generator().manual_seed(100 + update)
        for number, parameter in enumerate(own):
            gradient = torch.randn(parameter.shape, generator=dice)
            parameter.grad = None if number in missing(update) else gradient
        for group in optimizer.param_groups:
            group["lr"] = 0.01 / (1 + update)
        optimizer.step()
        optimizer.zero_grad()


@pytest.mark.parametrize(
    "missing",
    [
        lambda update: set(),
        lambda update: {1},
        lambda update: {update % 4},
        lambda update: {0, 1} if update > 3 else {2, 3},
        lambda update: {0, 1, 2, 3} if update == 2 else set(),
    ],
    ids=["none", "one", "in turns", "one group, then the other", "all, once"],
)
def test_it_moves_as_torch_s_own(missing: Callable[[int], set[int]]) -> None:
    ours, theirs = parameters(), parameters()
    one, other = quick(ours), usual(theirs)
    for own, optimizer in ((ours, one), (theirs, other)):
        move(own, optimizer, range(8), missing)
    for mine, wanted in zip(ours, theirs, strict=True):
        assert torch.equal(mine, wanted)
    assert one.state_dict()["state"].keys() == other.state_dict()["state"].keys()


def test_it_goes_on_from_a_state_that_is_loaded_be_it_torch_s() -> None:
    theirs = parameters()
    other = usual(theirs)
    move(theirs, other, range(4), lambda update: set())
    ours = parameters()
    one = quick(ours)
    move(ours, one, range(2), lambda update: {0})  # it has sorted something by now
    with torch.no_grad():
        for mine, wanted in zip(ours, theirs, strict=True):
            mine.copy_(wanted)
    one.load_state_dict(deepcopy(other.state_dict()))
    for own, optimizer in ((ours, one), (theirs, other)):
        move(own, optimizer, range(4, 8), lambda update: set())
    for mine, wanted in zip(ours, theirs, strict=True):
        assert torch.equal(mine, wanted)


def test_after_the_first_step_nothing_is_sorted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = parameters()
    one = quick(ours)
    move(ours, one, range(1), lambda update: {3})
    monkeypatch.setattr(torch.optim.AdamW, "step", None)
    move(ours, one, range(1, 3), lambda update: {3})
    with pytest.raises(TypeError):
        move(ours, one, range(3, 4), lambda update: set())


@pytest.mark.parametrize("copied", [deepcopy, lambda optimizer: pickle.loads(pickle.dumps(optimizer))])
def test_a_copy_goes_on_too(copied: Callable[[torch.optim.Optimizer], torch.optim.Optimizer]) -> None:
    ours, theirs = parameters(), parameters()
    one, other = quick(ours), usual(theirs)
    for own, optimizer in ((ours, one), (theirs, other)):
        move(own, optimizer, range(3), lambda update: set())
    copy = copied(one)
    mine = [parameter for group in copy.param_groups for parameter in group["params"]]
    for own, optimizer in ((mine, copy), (theirs, other)):
        move(own, optimizer, range(3, 6), lambda update: set())
    for found, wanted in zip(mine, theirs, strict=True):
        assert torch.equal(found, wanted)


def test_an_overflow_under_scaled_losses_is_left_out() -> None:
    def trained(build: Callable[[list[nn.Parameter]], torch.optim.Optimizer]) -> list[nn.Parameter]:
        own = parameters()
        optimizer, scaler = build(own), torch.amp.GradScaler("cpu")
        for update in range(5):
            loss = sum((parameter**2).sum() for parameter in own) * (torch.inf if update == 3 else 1.0)
            scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            scaler.unscale_(optimizer)
            clip(own, 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        return own

    for mine, wanted in zip(trained(quick), trained(usual), strict=True):
        assert mine.isfinite().all()
        assert torch.equal(mine, wanted)


@pytest.mark.parametrize("most", [0.5, 100.0])
@pytest.mark.parametrize("kinds", [(torch.float32,) * 3, (torch.float32, torch.float64), ()])
def test_clipping_is_torch_s(most: float, kinds: tuple[torch.dtype, ...]) -> None:
    def clipped(act: Callable[[list[nn.Parameter], float], object]) -> list[Any]:
        own = parameters()
        for number, kind in enumerate(kinds):
            own[number] = nn.Parameter(own[number].detach().to(kind))
            own[number].grad = own[number].detach() + 1
        act(own, most)
        return [parameter.grad for parameter in own]

    for mine, wanted in zip(clipped(clip), clipped(nn.utils.clip_grad_norm_), strict=True):
        assert (mine is None) == (wanted is None)
        assert mine is None or torch.equal(mine, wanted)
