"""A quick draw is a draw of the subset distribution, with the distribution's own log probability and gradient."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from acclimate.methods.masking.quick_draw import QuickDraw, widened
from acclimate.methods.masking.subset_distribution import SubsetDistribution

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def question(device: str = "cpu") -> tuple[Tensor, Tensor, Tensor, int]:
    dice = torch.Generator().manual_seed(3)
    scores = torch.randn(5, 21, generator=dice)
    allowed = torch.rand(5, 21, generator=dice) < 0.7
    sizes = torch.tensor([3, 1, 0, 4, 2])
    return scores.to(device).requires_grad_(), allowed.to(device), sizes.to(device), 4


def test_it_is_the_laws_own_draw() -> None:
    scores, allowed, sizes, most = question()
    torch.manual_seed(1)
    chosen, chance = QuickDraw()(scores, allowed, sizes, most, learns=True)
    torch.manual_seed(1)
    distribution = SubsetDistribution(scores, allowed, sizes, most)
    assert torch.equal(chosen, distribution.draw())
    assert chance is not None
    expected = distribution.log_probability(chosen)
    assert torch.equal(chance, expected)
    weights = torch.arange(1.0, 6.0)
    (slope,) = torch.autograd.grad((weights * chance).sum(), scores)
    (wanted,) = torch.autograd.grad((weights * expected).sum(), scores)
    assert torch.equal(slope, wanted)


def test_where_nothing_is_learnt_there_is_no_chance() -> None:
    chosen, chance = QuickDraw()(*question(), learns=False)
    assert chance is None
    assert torch.equal(chosen.sum(1), question()[2])


def test_wider_rows_have_the_same_law() -> None:
    scores, allowed, sizes, most = question()
    wide_scores, wide_allowed, wide_most = widened(scores.detach(), allowed, most)
    assert wide_scores.shape == wide_allowed.shape == (5, 32)
    assert wide_most == 8
    wide = SubsetDistribution(wide_scores, wide_allowed, sizes, wide_most)
    plain = SubsetDistribution(scores.detach(), allowed, sizes, most)
    torch.testing.assert_close(wide.marginals()[:, :21], plain.marginals())
    assert not wide.marginals()[:, 21:].any()
    torch.testing.assert_close(wide.log_partition(), plain.log_partition())
    assert widened(torch.zeros(2, 3), torch.ones(2, 3).bool(), 3)[2] == 8
    assert widened(torch.zeros(2, 0), torch.ones(2, 0).bool(), 0)[2] == 0  # no places, none to choose


@pytest.mark.gpu
@needs_gpu
def test_a_replayed_draw_is_one_too_and_always_another() -> None:
    draw = QuickDraw()
    scores, allowed, sizes, most = question("cuda")
    found = [draw(scores, allowed, sizes, most, learns=True) for _ in range(2_000)]
    assert [not isinstance(recording, str) for recording in draw.graphs.graphs.values()] == [True]
    distribution = SubsetDistribution(scores, allowed, sizes, most)
    for chosen, chance in found[:5]:
        assert chance is not None
        assert torch.equal(chosen.sum(1), sizes)
        torch.testing.assert_close(chance, distribution.log_probability(chosen))
    often = torch.stack([chosen for chosen, _ in found]).float().mean(0)
    marginals = distribution.marginals()
    spread = (marginals * (1 - marginals) / 2_000).sqrt()
    assert ((often - marginals).abs() <= 5 * spread + 1e-6).all()
    chance = found[-1][1]
    assert chance is not None
    (slope,) = torch.autograd.grad(chance.sum(), scores)
    torch.testing.assert_close(slope, found[-1][0].float() - marginals)
