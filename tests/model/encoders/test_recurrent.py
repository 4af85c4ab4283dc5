"""Recurrent layers: the same as torch's own bidirectional LSTM on packed sentences, and one dropout mask a sentence."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from acclimate.model.encoders.layers import BidirectionalLstm, VariationalDropout, reversed_places


def torch_twin(ours: BidirectionalLstm, input_width: int, width: int, layers: int) -> nn.LSTM:
    """torch's bidirectional LSTM with our weights."""
    twin = nn.LSTM(input_width, width, layers, batch_first=True, bidirectional=True)
    for layer in range(layers):
        for side, suffix in ((ours.rightward, ""), (ours.leftward, "_reverse")):
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(twin, f"{name}_l{layer}{suffix}").data.copy_(getattr(side[layer], f"{name}_l0"))
    return twin


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("training", [True, False])
def test_it_equals_torch_on_packed_sentences_forwards_and_backwards(layers: int, training: bool) -> None:
    ours = BidirectionalLstm(5, 4, layers).train(training)
    twin, lengths = torch_twin(ours, 5, 4, layers), torch.tensor([3, 7, 1, 7])
    states = torch.randn(4, 7, 5)
    mine, theirs = states.clone().requires_grad_(), states.clone().requires_grad_()
    packed = pack_padded_sequence(theirs, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(twin(packed)[0], batch_first=True)
    mask = (torch.arange(7) < lengths.unsqueeze(1)).unsqueeze(-1)
    found = ours(mine, lengths) * mask
    torch.testing.assert_close(found, expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(mine.grad, theirs.grad)


@pytest.mark.parametrize("lengths", [[3, 7, 1, 7], [1], [40] * 120, [*range(1, 90)], [90, 1, 1, 1, 60]])
def test_without_gradients_the_shorter_way_gives_the_same(lengths: list[int]) -> None:
    lstm, states = BidirectionalLstm(5, 4, 2).eval(), torch.randn(len(lengths), max(lengths), 5)
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).unsqueeze(-1)
    expected = lstm(states, torch.tensor(lengths)).detach()
    with torch.inference_mode():
        found = lstm(states, torch.tensor(lengths))
    torch.testing.assert_close(found * mask, expected * mask)


def test_what_stands_in_the_padding_does_not_matter() -> None:
    lstm, lengths = BidirectionalLstm(5, 4, 2).eval(), torch.tensor([2, 5])
    clean, dirty = torch.randn(2, 5, 5), torch.randn(2, 5, 5)
    dirty[0, :2], dirty[1] = clean[0, :2], clean[1]
    torch.testing.assert_close(lstm(clean, lengths)[0, :2], lstm(dirty, lengths)[0, :2])


def test_places_are_reversed_within_each_sentence_and_padding_stays_put() -> None:
    assert reversed_places(torch.tensor([3, 1, 4]), 4).tolist() == [[2, 1, 0, 3], [0, 1, 2, 3], [3, 2, 1, 0]]


@given(st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_reversing_twice_is_doing_nothing(lengths: list[int]) -> None:
    places = reversed_places(torch.tensor(lengths), 12)
    assert torch.equal(places.gather(1, places), torch.arange(12).expand(len(lengths), 12))


def dropped(states: Tensor, rate: float = 0.5) -> Tensor:
    return VariationalDropout(rate).train()(states)


def test_the_same_features_are_dropped_at_every_word_of_a_sentence() -> None:
    kept = dropped(torch.ones(8, 6, 32)) != 0
    assert (kept == kept[:, :1]).all()


def test_each_sentence_has_a_mask_of_its_own() -> None:
    kept = dropped(torch.ones(8, 1, 32))[:, 0]
    assert len({tuple(row.tolist()) for row in kept}) == 8


def test_what_is_kept_is_scaled_up_so_that_the_mean_stays() -> None:
    states = dropped(torch.ones(400, 1, 100), rate=0.2)
    assert states.unique().tolist() == pytest.approx([0, 1.25])
    assert states.mean().item() == pytest.approx(1, abs=0.01)


def test_without_training_or_rate_nothing_is_dropped() -> None:
    states = torch.randn(2, 3, 4)
    assert VariationalDropout(0.5).eval()(states) is states
    assert dropped(states, rate=0) is states


def test_forget_gates_begin_open() -> None:
    lstm = BidirectionalLstm(3, 4).rightward[0]
    assert (lstm.bias_ih_l0 + lstm.bias_hh_l0).tolist() == [0] * 4 + [1] * 4 + [0] * 8
