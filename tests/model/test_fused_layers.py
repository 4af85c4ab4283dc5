"""Layers in fewer steps: the same states and gradients as the model's own, and none where they would differ."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from acclimate.model.encoders import fused_layers
from acclimate.model.encoders.fused_layers import FusedLayers, fused_layer
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.narrowed import NarrowedWeights
from acclimate.model.replaying import replaying
from acclimate.model.tagger import Tagger

Reading = Callable[[Tensor, Tensor | None], Tensor]


@pytest.fixture
def encoder(build: Callable[..., Tagger]) -> Transformer:
    """Without dropout, as the encoder that ships."""
    found = build("bert").encoder
    assert isinstance(found, Transformer)
    for part in found.model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    found.model.config.attention_probs_dropout_prob = 0.0
    for layer in found.model.encoder.layer:
        layer.attention.self.dropout_prob = 0.0
    return found.train()


@pytest.fixture
def as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not compiled: that takes half a minute."""
    monkeypatch.setattr(fused_layers, "_compiled", lambda: fused_layer)


def both_ways(encoder: Transformer, read: Reading, inputs: Tensor, attention: Tensor | None) -> list[Tensor]:
    """States where something is read, and the gradients of inputs and parameters."""
    encoder.zero_grad()
    inputs.grad = None
    states = read(inputs, attention)
    seen = states if attention is None else states * attention.unsqueeze(-1)
    (seen * torch.linspace(-1, 1, seen.numel(), device=seen.device).view_as(seen)).sum().backward()
    found = [] if inputs.grad is None else [inputs.grad.clone()]
    return [seen.detach(), *found, *(each.grad.clone() for each in encoder.parameters() if each.grad is not None)]


def inputs_of(encoder: Transformer, device: str = "cpu") -> tuple[Tensor, Tensor]:
    inputs = torch.randn(3, 16, encoder.state_width, generator=torch.Generator().manual_seed(1)).to(device)
    attention = torch.ones(3, 16, dtype=torch.long, device=device)
    attention[1, 5:] = 0
    return inputs.requires_grad_(), attention


@pytest.mark.usefixtures("as_it_is")
@pytest.mark.parametrize("is_full", [False, True])
def test_states_and_gradients_are_the_model_s_own(encoder: Transformer, is_full: bool) -> None:
    inputs, attention = inputs_of(encoder)
    shown = None if is_full else attention
    fused = FusedLayers.of(encoder.model)
    assert fused is not None
    ours = both_ways(encoder, fused, inputs, shown)
    theirs = both_ways(encoder, encoder._states_of, inputs, shown)
    assert len(ours) == len(theirs) > 10
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
    pieces = torch.randint(5, 20, (2, 8))
    torch.testing.assert_close(fused(pieces, None), encoder.plain_states(pieces, None), rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("as_it_is")
def test_narrow_weights_are_found_where_they_stand(encoder: Transformer) -> None:
    inputs, attention = inputs_of(encoder)
    fused = FusedLayers.of(encoder.model)
    assert fused is not None
    with torch.autocast("cpu", torch.bfloat16), NarrowedWeights(encoder)(torch.bfloat16):
        ours = both_ways(encoder, fused, inputs, attention)
        theirs = both_ways(encoder, encoder._states_of, inputs, attention)
    assert ours[0].dtype == theirs[0].dtype == torch.float32
    assert float((ours[0] - theirs[0]).norm() / theirs[0].norm()) < 0.02
    assert not torch.equal(ours[0], both_ways(encoder, fused, inputs, attention)[0])  # those were narrow


def test_an_encoder_that_drops_numbers_is_read_as_it_is(build: Callable[..., Tagger], encoder: Transformer) -> None:
    assert FusedLayers.of(encoder.model) is not None
    assert FusedLayers.of(build("bert").encoder.model) is None  # type: ignore[union-attr]
    assert FusedLayers.of(nn.Linear(2, 2)) is None


def test_what_cannot_be_compiled_is_read_as_it_is_and_not_tried_again(
    encoder: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Tensor:
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(fused_layers, "_compiled", lambda: broken)
    inputs, attention = inputs_of(encoder)
    fused = FusedLayers.of(encoder.model)
    assert fused is not None
    assert fused(inputs, attention) is None
    assert "no compiler" in fused.refused
    monkeypatch.setattr(fused_layers, "_compiled", lambda: pytest.fail("tried again"))
    assert fused(inputs, attention) is None


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_replayed_and_fused_readings_are_those_of_the_model() -> None:
    encoder = Tagger.build("acclimate-mini", labels=("PER",), seed=1).encoder.cuda().train()
    assert isinstance(encoder, Transformer)
    for rows, length in ((4, 16), (6, 32)):
        inputs = (0.05 * torch.randn(rows, length, encoder.state_width, device="cuda")).requires_grad_()
        attention = torch.ones(rows, length, dtype=torch.long, device="cuda")
        attention[1, 9:] = 0
        with torch.autocast("cuda", torch.bfloat16):
            wanted = both_ways(encoder, encoder.states_of, inputs, attention)
            with replaying(encoder, fuse=True) as (passes,):
                for _ in range(4):
                    passes.release()
                    found = both_ways(encoder, encoder.states_of, inputs, attention)
                assert passes.made, passes.refused
                assert passes.fused is not None
                assert not passes.fused.refused
        for one, other in zip(found[:2], wanted[:2], strict=True):
            assert float((one - other).norm() / other.norm()) < 0.05
