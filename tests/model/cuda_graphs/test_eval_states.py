"""States from a CUDA graph are the ordinary ones, also after the weights have moved."""

from __future__ import annotations

import pytest
import torch

from acclimate.model.cuda_graphs.cast_weights import EvalStates, pad_rows
from acclimate.model.cuda_graphs.graph_cache import GraphCache
from acclimate.model.encoders.transformer import Transformer, TransformerSettings

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def encoder_at(bert: str, device: str) -> Transformer:
    return Transformer.build(bert, TransformerSettings()).to(device).eval()


def rows_at(encoder: Transformer, device: str) -> torch.Tensor:
    return torch.randint(5, len(encoder.pieces.tokenizer), (4, 16), generator=torch.manual_seed(0)).to(device)


@torch.no_grad()
def test_without_a_gpu_it_reads_as_usual(bert: str) -> None:
    encoder, states_of = encoder_at(bert, "cpu"), EvalStates()
    rows = rows_at(encoder, "cpu")
    assert torch.equal(states_of(encoder, rows, None), encoder.states(rows))
    assert not states_of.cache.graphs


@torch.no_grad()
def test_nothing_is_dropped_whichever_mode_the_encoder_is_in(bert: str) -> None:
    encoder, states_of = encoder_at(bert, "cpu"), EvalStates()
    rows = rows_at(encoder, "cpu")
    wanted = encoder.states(rows)
    encoder.train()
    assert not torch.equal(encoder.states(rows), wanted)
    assert torch.equal(states_of(encoder, rows, None), wanted)
    assert encoder.training
    assert all(part.training for part in encoder.modules())


@torch.no_grad()
def test_weights_that_are_cast_together_give_the_states_of_autocast(bert: str) -> None:
    encoder, states_of = encoder_at(bert, "cpu"), EvalStates()
    rows = rows_at(encoder, "cpu")
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        assert torch.equal(states_of(encoder, rows, None), encoder.states(rows))


@torch.no_grad()
def test_padding_behind_rows_changes_no_state(bert: str) -> None:
    encoder = encoder_at(bert, "cpu")
    rows = rows_at(encoder, "cpu")[:3, :13]
    attention = torch.ones_like(rows)
    attention[1, 9:] = 0
    wider, shown = pad_rows(rows, attention, longest=16)
    assert wider.shape == shown.shape == (8, 16)
    found, wanted = encoder.states(wider, shown), encoder.states(rows, attention)
    assert found.isfinite().all()
    torch.testing.assert_close(found[:3, :13][attention.bool()], wanted[attention.bool()], atol=1e-5, rtol=1e-4)


def test_rows_become_no_longer_than_the_encoder_can_read() -> None:
    rows = torch.ones(8, 13, dtype=torch.long)
    assert pad_rows(rows, rows, longest=14)[0].shape == (8, 14)
    assert pad_rows(rows, rows, longest=12)[0].shape == (8, 13)


@pytest.mark.gpu
@needs_gpu
@torch.no_grad()
def test_a_replay_is_the_reading_itself_and_follows_the_weights(bert: str) -> None:
    encoder, states_of = encoder_at(bert, "cuda"), EvalStates()
    for number in range(4):
        rows = rows_at(encoder, "cuda").roll(number, 1)
        torch.testing.assert_close(states_of(encoder, rows, None), encoder.states(rows), atol=1e-5, rtol=1e-4)
        for weight in encoder.parameters():
            weight.mul_(1.1)
    assert [not isinstance(recording, str) for recording in states_of.cache.graphs.values()] == [True]


@pytest.mark.gpu
@needs_gpu
@torch.no_grad()
def test_a_replay_leaves_the_encoder_s_mode_alone(bert: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, states_of = encoder_at(bert, "cuda"), EvalStates()
    rows = rows_at(encoder, "cuda")
    wanted = encoder.states(rows)
    encoder.train()
    for _ in range(2):
        torch.testing.assert_close(states_of(encoder, rows, None), wanted, atol=1e-5, rtol=1e-4)
    monkeypatch.setattr(encoder, "eval", None)
    torch.testing.assert_close(states_of(encoder, rows, None), wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.gpu
@needs_gpu
@torch.no_grad()
def test_in_half_precision_too(bert: str) -> None:
    encoder, states_of = encoder_at(bert, "cuda"), EvalStates()
    rows = rows_at(encoder, "cuda")
    with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
        first, again, usual = states_of(encoder, rows, None), states_of(encoder, rows, None), encoder.states(rows)
    assert torch.equal(first, again)
    torch.testing.assert_close(first.float(), usual.float(), atol=5e-2, rtol=5e-2)


@pytest.mark.gpu
@needs_gpu
@torch.no_grad()
def test_rows_that_are_not_full_share_a_graph(bert: str) -> None:
    encoder, states_of = encoder_at(bert, "cuda"), EvalStates()
    for rows, length in ((4, 16), (3, 11), (2, 13)):
        pieces = rows_at(encoder, "cuda")[:rows, :length]
        attention = torch.ones_like(pieces)
        attention[0, 5:] = 0
        found, wanted = states_of(encoder, pieces, attention), encoder.states(pieces, attention)
        torch.testing.assert_close(found[attention.bool()], wanted[attention.bool()], atol=1e-5, rtol=1e-4)
    assert len(states_of.cache.graphs) == 1


@pytest.mark.gpu
@needs_gpu
def test_what_has_no_graph_is_read_as_usual(bert: str) -> None:
    encoder, states_of = encoder_at(bert, "cuda"), EvalStates(GraphCache(most=4))
    rows = rows_at(encoder, "cuda")
    assert states_of(encoder, rows, None).requires_grad  # a gradient is asked for
    with torch.no_grad():
        for width in range(1, 9):
            states_of(encoder, rows[:, :width], None)
    assert len(states_of.cache.graphs) == 4
