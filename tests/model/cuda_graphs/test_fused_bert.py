"""A lean reading gives the states of the usual one, but for rounding and the form of the activation."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from acclimate.model.cuda_graphs import fused_bert
from acclimate.model.cuda_graphs.cast_weights import WeightCast, uncast_weights
from acclimate.model.cuda_graphs.fused_bert import EvalStates, FusedBert, _weights, fused_add_layer_norm
from acclimate.model.encoders.transformer import Transformer, TransformerSettings
from acclimate.model.tagger import Tagger

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def rows_of(encoder: Transformer, rows: int = 4, length: int = 16) -> Tensor:
    return torch.randint(5, len(encoder.pieces.tokenizer), (rows, length), generator=torch.manual_seed(0))


@pytest.mark.parametrize("kind", ["bert", "roberta"])
@torch.no_grad()
def test_states_are_those_of_the_usual_reading(kind: str, request: pytest.FixtureRequest) -> None:
    encoder = Transformer.build(request.getfixturevalue(kind), TransformerSettings()).eval()
    lean = FusedBert.of(encoder.model)
    assert lean is not None
    pieces = rows_of(encoder)
    attention = torch.ones_like(pieces)
    attention[1, 9:] = 0
    for shown in (None, attention):
        found, wanted = lean(pieces, shown, torch.float32), encoder.states(pieces, shown)
        counted = torch.ones_like(pieces).bool() if shown is None else shown.bool()
        torch.testing.assert_close(found[counted], wanted[counted], atol=5e-3, rtol=5e-3)


@torch.no_grad()
def test_so_are_those_of_the_encoder_that_ships() -> None:
    encoder = Tagger.build("acclimate-mini", labels=("PER",), seed=1).encoder.eval()
    assert isinstance(encoder, Transformer)
    lean = FusedBert.of(encoder.model)
    assert lean is not None
    pieces = rows_of(encoder, 3, 40)
    wanted = encoder.states(pieces)
    away = lean(pieces, None, torch.float32) - wanted
    assert away.norm() < 2e-3 * wanted.norm()
    narrow = lean(pieces, None, torch.bfloat16)
    assert narrow.dtype == torch.bfloat16
    assert (narrow.float() - wanted).norm() < 5e-2 * wanted.norm()


def test_others_are_left_to_the_usual_reading(bert: str) -> None:
    model = Transformer.build(bert, TransformerSettings()).model
    assert FusedBert.of(model) is not None
    model.config.hidden_act = "relu"
    assert FusedBert.of(model) is None
    model.config.hidden_act = "gelu"
    model.encoder.layer[0].extra = torch.nn.Linear(2, 2)  # an adapter, say
    assert FusedBert.of(model) is None
    assert FusedBert.of(torch.nn.Linear(2, 2)) is None


def test_kinds_that_only_look_alike_are_left_to_the_usual_reading(bert: str) -> None:
    model = Transformer.build(bert, TransformerSettings()).model
    model.config.model_type = "roformer"
    assert FusedBert.of(model) is None
    model.config.model_type = "electra"
    assert FusedBert.of(model) is not None
    model.embeddings_project = torch.nn.Linear(2, 2)
    assert FusedBert.of(model) is None


@torch.no_grad()
def test_inside_a_step_it_reads_the_weights_that_last(bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings()).eval()
    own = encoder.model.encoder.layer[0].attention.self.query.weight
    with WeightCast(encoder)(torch.bfloat16):
        assert encoder.model.encoder.layer[0].attention.self.query.weight is not own
        with uncast_weights(encoder):
            assert _weights(encoder.model.encoder.layer[0])[0][0] is own


@torch.no_grad()
def test_it_follows_the_weights(bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings()).eval()
    lean = FusedBert.of(encoder.model)
    assert lean is not None
    pieces = rows_of(encoder)
    before = lean(pieces, None, torch.float32)
    for weight in encoder.parameters():
        weight.mul_(1.2)
    after = lean(pieces, None, torch.float32)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, encoder.states(pieces), atol=5e-3, rtol=5e-3)


def test_without_a_gpu_the_sum_is_made_first() -> None:
    one, other, weight, shift = torch.randn(5, 7), torch.randn(5, 7), torch.randn(7), torch.randn(7)
    wanted = layer_norm(one + other, (7,), weight, shift, 1e-5)
    assert torch.equal(fused_add_layer_norm(one, other, weight, shift, 1e-5), wanted)


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("narrow", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("size", [7, 384, 768, 1000])
def test_on_a_gpu_the_norm_of_a_sum_is_right(size: int, narrow: torch.dtype) -> None:
    one, other = (3 * torch.randn(50, size, device="cuda", dtype=narrow) + 1 for _ in range(2))
    weight, shift = (torch.randn(size, device="cuda", dtype=narrow) for _ in range(2))
    found = fused_add_layer_norm(one, other, weight, shift, 1e-5)
    assert not fused_bert._refused
    wanted = layer_norm(one.double() + other.double(), (size,), weight.double(), shift.double(), 1e-5)
    torch.testing.assert_close(found.double(), wanted, atol=1e-3, rtol=2e-2 if narrow == torch.bfloat16 else 1e-4)


@pytest.mark.gpu
@needs_gpu
@torch.no_grad()
def test_on_a_gpu_a_look_in_half_precision_is_lean_and_replayed() -> None:
    encoder = Tagger.build("acclimate-mini", labels=("PER",), seed=1).encoder.cuda().eval()
    assert isinstance(encoder, Transformer)
    pieces = rows_of(encoder, 8, 40).cuda()
    wanted = encoder.states(pieces)
    look = EvalStates()
    for _ in range(3):
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            found = look(encoder, pieces, None)
        assert (found.float() - wanted).norm() < 5e-2 * wanted.norm()
    assert [not isinstance(recording, str) for recording in look.cache.graphs.values()] == [True]
