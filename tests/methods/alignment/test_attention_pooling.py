"""Pooling: a weighted mean of the words, in which padding has no say."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from acclimate.methods.alignment.domain_discriminator import AttentionPooling, attention_weights

STATES = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]], dtype=torch.float64)
TWO_WORDS = torch.tensor([[True, True, False]])


def with_scores_one_two_zero() -> AttentionPooling:
    """Gives the three states the scores 1, 2 and (but for 1e-6) 0."""
    pooling = AttentionPooling(2, 3).double()
    with torch.no_grad():
        pooling.inner.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
        pooling.score.weight.copy_(torch.tensor([[-2.0, -1.0, 3.0]], dtype=torch.float64) / math.tanh(1))
    return pooling


def slowly(pooling: AttentionPooling, states: Tensor, length: int) -> Tensor:
    """One sentence, word by word, as the formula has it."""
    worth = [(pooling.score.weight[0] @ (pooling.inner.weight @ state).tanh()).exp() for state in states[:length]]
    return sum((share * state for share, state in zip(worth, states, strict=False)), torch.zeros(())) / sum(worth)


def test_the_worked_example() -> None:
    pooled = with_scores_one_two_zero()(STATES, TWO_WORDS)
    torch.testing.assert_close(pooled, torch.tensor([[0.26894142136999505, 0.7310585786300048]], dtype=torch.float64))


def test_what_comes_out_when_padding_is_not_masked_does_not_come_out() -> None:
    pooling, faulty = with_scores_one_two_zero(), torch.tensor([[1.0550036295882215, 1.4755161143082456]]).double()
    everything = pooling(STATES, torch.ones_like(TWO_WORDS))
    torch.testing.assert_close(everything, faulty, rtol=1e-5, atol=1e-5)  # the example does tell the two apart
    assert not torch.allclose(pooling(STATES, TWO_WORDS), faulty, atol=0.1)


def test_it_is_a_mean_and_not_the_sum_that_a_softmax_over_the_wrong_axis_gives() -> None:
    weights = attention_weights(torch.tensor([[1.0, 2.0, 0.0]]), TWO_WORDS)
    torch.testing.assert_close(weights, torch.tensor([[0.26894142, 0.73105858, 0.0]]))
    assert not torch.allclose(with_scores_one_two_zero()(STATES, TWO_WORDS), torch.full((1, 2), 10.0).double())


def test_it_equals_a_slow_loop() -> None:
    pooling, states, lengths = AttentionPooling(5, 4).double(), torch.randn(3, 6, 5).double(), [6, 1, 3]
    mask = torch.arange(6) < torch.tensor(lengths).unsqueeze(1)
    expected = torch.stack([slowly(pooling, row, length) for row, length in zip(states, lengths, strict=True)])
    torch.testing.assert_close(pooling(states, mask), expected)


@pytest.mark.parametrize("rubbish", [0.0, 1e6, math.inf, math.nan])
def test_padding_changes_nothing_whatever_stands_there(rubbish: float) -> None:
    pooling, states = AttentionPooling(4).double(), torch.randn(2, 3, 4).double()
    mask = torch.ones(2, 3, dtype=torch.bool)
    wide = torch.cat([states, torch.full((2, 2, 4), rubbish).double()], 1).requires_grad_()
    pooled = pooling(wide, torch.cat([mask, torch.zeros(2, 2, dtype=torch.bool)], 1))
    torch.testing.assert_close(pooled, pooling(states, mask))
    (slopes,) = torch.autograd.grad(pooled.sum(), wide)
    assert slopes[:, :3].any()
    assert not slopes[:, 3:].any()


def test_a_sentence_without_words_gives_nothing_rather_than_nan() -> None:
    states, pooling = torch.randn(2, 3, 4, requires_grad=True), AttentionPooling(4)
    pooled = pooling(states, torch.tensor([[True, True, False], [False, False, False]]))
    assert not pooled[1].any()
    slopes = torch.autograd.grad(pooled.sum(), [states, *pooling.parameters()])
    assert all(slope.isfinite().all() for slope in slopes)


def test_weights_sum_to_one_over_words_and_to_nothing_where_there_are_none() -> None:
    weights = attention_weights(torch.randn(2, 3), torch.tensor([[True, True, False], [False] * 3]))
    torch.testing.assert_close(weights.sum(1), torch.tensor([1.0, 0.0]))


def test_large_scores_do_not_overflow() -> None:
    weights = attention_weights(torch.tensor([[1e30, -1e30, 3e38]]), torch.tensor([[True, True, False]]))
    assert weights.tolist() == [[1, 0, 0]]


def test_its_slope_is_right() -> None:
    pooling, states = AttentionPooling(3, 2).double(), torch.randn(2, 4, 3).double().requires_grad_()
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    weights = (pooling.inner.weight, pooling.score.weight)
    assert torch.autograd.gradcheck(lambda states, *_: pooling(states, mask), (states, *weights))


def test_it_keeps_full_precision_inside_autocast() -> None:
    pooling, states, mask = AttentionPooling(4), torch.randn(2, 3, 4), torch.ones(2, 3, dtype=torch.bool)
    alone = pooling(states, mask)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(pooling(states, mask), alone)
        assert pooling(states.bfloat16(), mask).dtype == torch.float32
