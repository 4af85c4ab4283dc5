"""The reversal: nothing on the way up, minus lambda times the gradient on the way down."""

from __future__ import annotations

import torch
from torch import Tensor

from acclimate.methods.alignment.domain_discriminator import reverse_gradient


def slope(strength: float, gradient: list[float]) -> Tensor:
    features = torch.tensor([1.0, 2.0], requires_grad=True)
    reverse_gradient(features, strength).backward(torch.tensor(gradient))
    assert features.grad is not None
    return features.grad


def test_upwards_everything_passes_as_it_is() -> None:
    features = torch.randn(3, 4, 5)
    assert torch.equal(reverse_gradient(features, 0.7), features)


def test_downwards_the_gradient_is_turned_round_and_scaled() -> None:
    torch.testing.assert_close(slope(0.7, [0.2, -0.5]), torch.tensor([-0.14, 0.35]))


def test_at_strength_zero_nothing_comes_back() -> None:
    assert not slope(0.0, [0.2, -0.5]).any()


def test_two_reversals_cancel() -> None:
    features = torch.randn(4, requires_grad=True)
    twice = reverse_gradient(reverse_gradient(features, 1.0), 1.0)
    (found,) = torch.autograd.grad(twice.sin().sum(), features)
    torch.testing.assert_close(found, features.cos())


def test_it_is_minus_the_slope_that_finite_differences_find() -> None:
    features = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: reverse_gradient(x, -1.0).exp(), (features,))
    assert not torch.autograd.gradcheck(lambda x: reverse_gradient(x, 1.0).exp(), (features,), raise_exception=False)


def test_the_gradient_can_be_differentiated_in_turn() -> None:
    features = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: reverse_gradient(x, -1.0).exp(), (features,))


def test_features_that_nobody_trains_are_let_through() -> None:
    assert not reverse_gradient(torch.ones(2), 1.0).requires_grad
