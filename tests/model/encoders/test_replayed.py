"""A reading that the GPU replays gives what an ordinary one gives, also after the weights have moved."""

from __future__ import annotations

import pytest
import torch

from acclimate.model.encoders.replayed import Replayed, widened
from acclimate.model.encoders.transformer import Transformer, TransformerSettings
from acclimate.model.recorded import Recorded

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def encoder_at(bert: str, device: str) -> Transformer:
    return Transformer.build(bert, TransformerSettings()).to(device).eval()


def rows_at(encoder: Transformer, device: str) -> torch.Tensor:
    return torch.randint(5, len(encoder.pieces.tokenizer), (4, 16), generator=torch.manual_seed(0)).to(device)


@torch.no_grad()
def test_without_a_gpu_it_reads_as_usual(bert: str) -> None:
    encoder, look = encoder_at(bert, "cpu"), Replayed()
    rows = rows_at(encoder, "cpu")
    assert torch.equal(look(encoder, rows, None), encoder.states(rows))
    assert not look.recorded.recordings


@torch.no_grad()
def test_nothing_is_dropped_whichever_mode_the_encoder_is_in(bert: str) -> None:
    encoder, look = encoder_at(bert, "cpu"), Replayed()
    rows = rows_at(encoder, "cpu")
    wanted = encoder.states(rows)
    encoder.train()
    assert not torch.equal(encoder.states(rows), wanted)
    assert torch.equal(look(encoder, rows, None), wanted)
    assert encoder.training
    assert all(part.training for part in encoder.modules())


@torch.no_grad()
def test_weights_that_are_narrowed_together_give_the_states_of_autocast(bert: str) -> None:
    encoder, look = encoder_at(bert, "cpu"), Replayed()
    rows = rows_at(encoder, "cpu")
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        assert torch.equal(look(encoder, rows, None), encoder.states(rows))


@torch.no_grad()
def test_padding_behind_rows_changes_no_state(bert: str) -> None:
    encoder = encoder_at(bert, "cpu")
    rows = rows_at(encoder, "cpu")[:3, :13]
    attention = torch.ones_like(rows)
    attention[1, 9:] = 0
    wider, shown = widened(rows, attention, longest=16)
    assert wider.shape == shown.shape == (8, 16)
    found, wanted = encoder.states(wider, shown), encoder.states(rows, attention)
    assert found.isfinite().all()
    torch.testing.assert_close(found[:3, :13][attention.bool()], wanted[attention.bool()], atol=1e-5, rtol=1e-4)


def test_rows_become_no_longer_than_the_encoder_can_read() -> None:
    rows = torch.ones(8, 13, dtype=torch.long)
    assert widened(rows, rows, longest=14)[0].shape == (8, 14)
    assert widened(rows, rows, longest=12)[0].shape == (8, 13)


@pytest.mark.gpu
@needs_gpu
@torch.no_grad()
def test_a_replay_is_the_reading_itself_and_follows_the_weights(bert: str) -> None:
    encoder, look = encoder_at(bert, "cuda"), Replayed()
    for number in range(4):
        rows = rows_at(encoder, "cuda").roll(number, 1)
        torch.testing.assert_close(look(encoder, rows, None), encoder.states(rows), atol=1e-5, rtol=1e-4)
        for weight in encoder.parameters():
            weight.mul_(1.1)
    assert [not isinstance(recording, str) for recording in look.recorded.recordings.values()] == [True]


@pytest.mark.gpu
@needs_gpu
@torch.no_grad()
def test_a_replay_leaves_the_encoder_s_mode_alone(bert: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, look = encoder_at(bert, "cuda"), Replayed()
    rows = rows_at(encoder, "cuda")
    wanted = encoder.states(rows)
    encoder.train()
    for _ in range(2):
        torch.testing.assert_close(look(encoder, rows, None), wanted, atol=1e-5, rtol=1e-4)
    monkeypatch.setattr(encoder, "eval", None)
    torch.testing.assert_close(look(encoder, rows, None), wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.gpu
@needs_gpu
@torch.no_grad()
def test_in_half_precision_too(bert: str) -> None:
    encoder, look = encoder_at(bert, "cuda"), Replayed()
    rows = rows_at(encoder, "cuda")
    with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
        first, again, usual = look(encoder, rows, None), look(encoder, rows, None), encoder.states(rows)
    assert torch.equal(first, again)
    torch.testing.assert_close(first.float(), usual.float(), atol=5e-2, rtol=5e-2)


@pytest.mark.gpu
@needs_gpu
@torch.no_grad()
def test_rows_that_are_not_full_share_a_recording(bert: str) -> None:
    encoder, look = encoder_at(bert, "cuda"), Replayed()
    for rows, length in ((4, 16), (3, 11), (2, 13)):
        pieces = rows_at(encoder, "cuda")[:rows, :length]
        attention = torch.ones_like(pieces)
        attention[0, 5:] = 0
        found, wanted = look(encoder, pieces, attention), encoder.states(pieces, attention)
        torch.testing.assert_close(found[attention.bool()], wanted[attention.bool()], atol=1e-5, rtol=1e-4)
    assert len(look.recorded.recordings) == 1


@pytest.mark.gpu
@needs_gpu
def test_what_cannot_be_replayed_is_read_as_usual(bert: str) -> None:
    encoder, look = encoder_at(bert, "cuda"), Replayed(Recorded(most=4))
    rows = rows_at(encoder, "cuda")
    assert look(encoder, rows, None).requires_grad  # a gradient is asked for
    with torch.no_grad():
        for width in range(1, 9):
            look(encoder, rows[:, :width], None)
    assert len(look.recorded.recordings) == 4
