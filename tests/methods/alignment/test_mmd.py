"""Squared MMD: the worked numbers, by loops, and what must not break it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from acclimate.methods.alignment.mmd import BANK, MEDIANS, Kernel, squared_mmd, squared_mmds

# Oracle 4_mmd
X = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
Y = torch.tensor([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]], dtype=torch.float64)


def slow_mmd(x: Tensor, y: Tensor, widths: Sequence[float], unbiased: bool = False) -> float:
    """Pair by pair, straight from the definition."""

    def kernel(a: Tensor, b: Tensor) -> float:
        distance = sum((float(p) - float(q)) ** 2 for p, q in zip(a, b, strict=True))
        return sum(math.exp(-distance / (2 * width)) for width in widths)

    def mean(rows: Tensor, columns: Tensor, same: bool) -> float:
        pairs = [(i, j) for i in range(len(rows)) for j in range(len(columns)) if not (same and unbiased and i == j)]
        return sum(kernel(rows[i], columns[j]) for i, j in pairs) / len(pairs)

    return mean(x, x, True) + mean(y, y, True) - 2 * mean(x, y, False)


def median_of_pairs(x: Tensor, y: Tensor) -> float:
    return float(torch.pdist(torch.cat([x, y])).square().quantile(0.5))


@pytest.mark.parametrize(
    ("kernel", "biased", "unbiased"),
    [
        (Kernel((1.0,)), 0.4744799703967342, 0.061800311309492484),
        (Kernel((0.25, 1.0, 4.0)), 1.4208098745614364, 0.11151913463258767),  # sigma 0.5, 1, 2
        (Kernel((1.0,), in_medians=True), 0.3602181154181223, 0.042797552087677326),
    ],
)
def test_the_worked_numbers(kernel: Kernel, biased: float, unbiased: float) -> None:
    assert squared_mmd(X, Y, kernel).item() == pytest.approx(biased, rel=1e-12)
    assert squared_mmd(X, Y, kernel, unbiased=True).item() == pytest.approx(unbiased, rel=1e-12)


def test_a_width_is_sigma_squared_and_not_sigma() -> None:
    assert squared_mmd(X, Y, Kernel((2.0,))).item() != pytest.approx(slow_mmd(X, Y, [4.0]))
    assert squared_mmd(X, Y, Kernel((2.0,))).item() == pytest.approx(slow_mmd(X, Y, [2.0]))


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("sizes", [(2, 2), (5, 3), (2, 9)])
def test_it_is_what_loops_over_all_pairs_give(sizes: tuple[int, int], unbiased: bool) -> None:
    x, y = torch.randn(sizes[0], 4).double(), 1 + torch.randn(sizes[1], 4).double()
    median = median_of_pairs(x, y)
    widths = [median * times for times in (0.25, 0.5, 1, 2, 4)]
    assert squared_mmd(x, y, unbiased=unbiased).item() == pytest.approx(slow_mmd(x, y, widths, unbiased))
    assert squared_mmd(x, y, BANK, unbiased=unbiased).item() == pytest.approx(slow_mmd(x, y, BANK.widths, unbiased))


def test_the_bank_has_nineteen_kernels_from_a_millionth_to_a_million() -> None:
    assert (len(BANK.widths), min(BANK.widths), max(BANK.widths), BANK.in_medians) == (19, 1e-6, 1e6, False)


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("kernel", [Kernel((0.5, 2.0)), Kernel((3.0,))])
def test_its_gradient_is_exact(kernel: Kernel, unbiased: bool) -> None:
    x, y = torch.randn(3, 2).double().requires_grad_(), torch.randn(4, 2).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, y: squared_mmd(x, y, kernel, unbiased=unbiased), (x, y))


def test_the_median_takes_no_gradient() -> None:
    x, y = torch.randn(3, 2).double().requires_grad_(), torch.randn(4, 2).double().requires_grad_()
    median = median_of_pairs(x, y)
    fixed = Kernel(tuple(median * width for width in MEDIANS.widths))
    torch.testing.assert_close(
        torch.autograd.grad(squared_mmd(x, y), (x, y)), torch.autograd.grad(squared_mmd(x, y, fixed), (x, y))
    )


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_it_is_symmetric_and_never_below_zero(count: int, others: int, seed: int) -> None:
    torch.manual_seed(seed)
    x, y = torch.randn(count, 3).double(), torch.randn(others, 3).double()
    assert squared_mmd(x, y) >= -1e-12
    torch.testing.assert_close(squared_mmd(x, y), squared_mmd(y, x))


@pytest.mark.parametrize("kernel", [MEDIANS, BANK])
def test_a_set_is_no_different_from_itself(kernel: Kernel) -> None:
    points = torch.randn(7, 5).double()
    assert squared_mmd(points, points, kernel).item() == pytest.approx(0, abs=1e-9)
    assert squared_mmd(points, points[torch.randperm(7)], kernel).item() == pytest.approx(0, abs=1e-9)


def test_it_grows_as_one_set_moves_away() -> None:
    points = torch.randn(20, 5)
    found = [float(squared_mmd(points, points + shift)) for shift in (0.0, 0.3, 1.0, 3.0)]
    assert found == sorted(found)
    assert found[-1] > found[0] + 1


def test_without_the_bias_sets_of_one_law_are_zero_on_average() -> None:
    draws = [(torch.randn(4, 3), torch.randn(4, 3)) for _ in range(400)]
    kernel = Kernel((1.0,))
    assert abs(sum(float(squared_mmd(*pair, kernel, unbiased=True)) for pair in draws) / 400) < 0.02
    assert sum(float(squared_mmd(*pair, kernel)) for pair in draws) / 400 > 0.2


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (3, 0), (1, 0), (1, 1), (1, 3), (3, 1)])
def test_empty_sets_and_single_points_give_numbers_and_slopes(sizes: tuple[int, int], unbiased: bool) -> None:
    x, y = torch.randn(sizes[0], 4, requires_grad=True), torch.randn(sizes[1], 4, requires_grad=True)
    found = squared_mmd(x, y, unbiased=unbiased)
    found.backward()
    assert found.isfinite()
    assert all(side.grad is None or side.grad.isfinite().all() for side in (x, y))
    if min(sizes) < (2 if unbiased else 1):
        assert found == 0


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e6])
def test_points_that_are_all_the_same_are_no_reason_to_move(size: float) -> None:
    x = (size * torch.ones(4, 8) / 3).requires_grad_()
    found = squared_mmd(x, x.detach().clone())
    found.backward()
    assert found.item() == pytest.approx(0, abs=1e-5)
    assert x.grad is not None
    assert x.grad.norm() * size < 1e-2


def test_distances_keep_their_digits_far_from_the_origin() -> None:
    x, y = torch.randn(6, 4), torch.randn(6, 4)
    torch.testing.assert_close(squared_mmd(x + 300, y + 300), squared_mmd(x, y), atol=1e-3, rtol=1e-3)


def test_autocast_does_not_narrow_it() -> None:
    x, y = torch.randn(6, 64), torch.randn(6, 64)
    with torch.autocast("cpu", torch.bfloat16):
        inside = squared_mmd(x, y)
    assert inside.dtype == torch.float32
    assert inside == squared_mmd(x, y)
    assert squared_mmd(x.bfloat16(), y.bfloat16()).dtype == torch.float32


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("kernel", [MEDIANS, BANK])
def test_several_pairs_at_once_are_each_what_they_are_alone(kernel: Kernel, unbiased: bool) -> None:
    counts = [(2, 3), (7, 2), (4, 4), (2, 11)]
    rows = (3 * torch.randn(sum(map(sum, counts)), 5, dtype=torch.float64) + 7).requires_grad_()
    sets = rows.split([size for pair in counts for size in pair])
    alone = [
        squared_mmd(mine, theirs, kernel, unbiased=unbiased) for mine, theirs in zip(sets[::2], sets[1::2], strict=True)
    ]
    together = squared_mmds(rows, counts, kernel, unbiased=unbiased)
    torch.testing.assert_close(together, torch.stack(alone))
    weights = torch.arange(1.0, 5.0, dtype=torch.float64)
    (wanted,) = torch.autograd.grad((weights * torch.stack(alone)).sum(), rows)
    (found,) = torch.autograd.grad((weights * together).sum(), rows)
    torch.testing.assert_close(found, wanted)
    assert wanted.abs().sum() > 0


def test_pairs_of_single_points_and_of_equal_ones_are_finite() -> None:
    rows = torch.cat([torch.randn(2, 3), torch.ones(6, 3)]).requires_grad_()
    counts = [(1, 1), (3, 3)]
    found = squared_mmds(rows, counts)
    alone = [squared_mmd(rows[:1], rows[1:2]), squared_mmd(rows[2:5], rows[5:])]
    torch.testing.assert_close(found, torch.stack(alone), atol=1e-6, rtol=1e-5)
    found.sum().backward()
    assert rows.grad is not None
    assert rows.grad.isfinite().all()
