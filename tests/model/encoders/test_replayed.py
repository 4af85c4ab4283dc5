"""A reading that the GPU replays gives what an ordinary one gives, also after the weights have moved."""

from __future__ import annotations

import pytest
import torch

from acclimate.model.encoders.replayed import Replayed
from acclimate.model.encoders.transformer import Transformer, TransformerSettings

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
def test_in_half_precision_too(bert: str) -> None:
    encoder, look = encoder_at(bert, "cuda"), Replayed()
    rows = rows_at(encoder, "cuda")
    with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
        first, again, usual = look(encoder, rows, None), look(encoder, rows, None), encoder.states(rows)
    assert torch.equal(first, again)
    torch.testing.assert_close(first.float(), usual.float(), atol=5e-2, rtol=5e-2)


@pytest.mark.gpu
@needs_gpu
def test_what_cannot_be_replayed_is_read_as_usual(bert: str) -> None:
    encoder, look = encoder_at(bert, "cuda"), Replayed()
    rows = rows_at(encoder, "cuda")
    assert look(encoder, rows, None).requires_grad  # a gradient is asked for
    with torch.no_grad():
        look(encoder, rows, torch.ones_like(rows))
        for width in range(1, 9):
            look(encoder, rows[:, :width], None)
    assert len(look.recorded.recordings) == 4
