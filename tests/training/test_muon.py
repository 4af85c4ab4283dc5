"""Muon: orthogonal steps for matrices, AdamW for the rest."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from acclimate.training.muon import Muon, orthogonal


def draw(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(*shape))


def give_gradients(*groups: list[nn.Parameter]) -> None:
    for alike in zip(*groups, strict=True):
        gradient = torch.randn_like(alike[0])
        for parameter in alike:
            parameter.grad = gradient.clone()


def copies(parameters: list[nn.Parameter]) -> list[nn.Parameter]:
    return [nn.Parameter(parameter.detach().clone()) for parameter in parameters]


def test_it_moves_as_the_one_in_torch_does() -> None:
    """Up to rounding: that one turns its matrices in bfloat16."""
    matrices, others = [draw(8, 12), draw(8, 12), draw(12, 5)], [draw(7)]
    same_matrices, same_others = copies(matrices), copies(others)
    ours = Muon(matrices, others, 1e-2, (0.9, 0.98), 0.1)
    theirs = torch.optim.Muon(
        same_matrices, lr=1e-2, weight_decay=0.1, momentum=0.95, nesterov=True, adjust_lr_fn="match_rms_adamw"
    )
    adam = torch.optim.AdamW(same_others, lr=1e-2, betas=(0.9, 0.98), weight_decay=0.0)
    for _ in range(5):
        give_gradients([*matrices, *others], [*same_matrices, *same_others])
        for optimizer in (ours, theirs, adam):
            optimizer.step()
    for one, other in zip(matrices, same_matrices, strict=True):
        torch.testing.assert_close(one, other, atol=2e-3, rtol=0)
    torch.testing.assert_close(others[0], same_others[0])


@pytest.mark.parametrize("shape", [(3, 6, 6), (2, 4, 9), (2, 9, 4)])
def test_turned_matrices_have_singular_values_near_one_and_the_same_directions(shape: tuple[int, ...]) -> None:
    matrices = torch.randn(shape)
    turned = orthogonal(matrices)
    assert ((torch.linalg.svdvals(turned) - 1).abs() < 0.35).all()
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    nearest = left @ right
    agreement = (nearest * turned).sum((1, 2)) / (nearest.norm(dim=(1, 2)) * turned.norm(dim=(1, 2)))
    assert (agreement > 0.95).all()


def test_no_gradient_no_move() -> None:
    matrices = [draw(4, 4), draw(4, 4)]
    before = [matrix.detach().clone() for matrix in matrices]
    optimizer = Muon(matrices, [], 0.1)
    matrices[0].grad = torch.randn(4, 4)
    optimizer.step()
    assert not torch.equal(matrices[0], before[0])
    assert torch.equal(matrices[1], before[1])


def test_a_zero_gradient_is_no_division_by_zero() -> None:
    matrices, others = [draw(4, 4)], [draw(3)]
    optimizer = Muon(matrices, others, 0.1)
    for parameter in (*matrices, *others):
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert all(parameter.isfinite().all() for parameter in (*matrices, *others))


def test_filters_are_turned_as_matrices() -> None:
    filters = [draw(6, 4, 3)]
    optimizer = Muon(filters, [], 0.1)
    filters[0].grad = torch.randn(6, 4, 3)
    before = filters[0].detach().clone()
    optimizer.step()
    moved: Tensor = (filters[0] - before).flatten(1)
    assert torch.linalg.svdvals(moved).std() < 0.3 * torch.linalg.svdvals(moved).mean()


def test_it_finds_a_minimum() -> None:
    goal, matrix = torch.randn(5, 5), draw(5, 5)
    optimizer = Muon([matrix], [], 0.2)
    for update in range(300):
        for group in optimizer.param_groups:
            group["lr"] = 0.2 * (1 - update / 300)
        optimizer.zero_grad()
        (matrix - goal).pow(2).sum().backward()
        optimizer.step()
    assert (matrix - goal).abs().max() < 0.05


def test_a_closure_is_refused() -> None:
    with pytest.raises(ValueError, match="no closure"):
        Muon([draw(2, 2)], [], 0.1).step(lambda: 0.0)
