"""Weights cast all at once give what autocast gives, loss and gradient, and leave no trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import nn

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Objective, Tagging
from acclimate.methods.perturbation.adversarial import AdversarialTraining
from acclimate.model.cuda_graphs.cast_weights import WeightCast, cast_module
from acclimate.model.encoders.encoder import Acceleration
from acclimate.model.tagger import Tagger
from acclimate.training.loop import Training, build_engine
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage, TrainingStep

Build = Callable[..., Tagger]
OBJECTIVES: dict[str, Callable[[], Objective]] = {
    "plain": Tagging,
    "two passes": lambda: AdversarialTraining(Tagging(), {"source": {"pieces": 0.5}}),
}


class CastOnce(Acceleration):
    """Casts all weights at once for each step."""

    def __init__(self, learner: nn.Module) -> None:
        self.cast = WeightCast(learner)

    @contextmanager
    def step(self) -> Iterator[None]:
        with super().step(), self.cast(torch.bfloat16):
            yield


def losses_and_gradients(
    tagger: Tagger, objective: Objective, corpus: Corpus, at_once: bool
) -> tuple[torch.Tensor, dict[str, torch.Tensor | None]]:
    step = TrainingStep(tagger, {"tag": objective}, CastOnce(tagger) if at_once else None).train()
    batch = next(Batches({"source": corpus}, 200, seed=1).starting_at(0))
    torch.manual_seed(0)
    with torch.autocast("cpu", torch.bfloat16):
        loss = step(batch)["tag"]
    loss.backward()
    return loss.detach(), {name: weight.grad for name, weight in tagger.named_parameters()}


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_loss_and_gradients_are_those_of_autocast_bit_for_bit(build: Build, news: Corpus, kind: str) -> None:
    found = [losses_and_gradients(build("bert"), OBJECTIVES[kind](), news, at_once) for at_once in (False, True)]
    (usual, gradients), (loss, ours) = found
    assert torch.equal(loss, usual)
    assert gradients.keys() == ours.keys()
    for name, gradient in gradients.items():
        other = ours[name]
        assert (gradient is None) == (other is None), name
        assert gradient is None or other is None or torch.equal(gradient, other), name
    assert any(gradient is not None and gradient.abs().sum() > 0 for gradient in ours.values())


def linear(tagger: Tagger) -> nn.Linear:
    return next(layer for layer in tagger.encoder.modules() if isinstance(layer, nn.Linear))


def test_inside_a_layer_reads_cast_weights_and_owns_others_ones(build: Build) -> None:
    tagger = build("bert")
    layer = linear(tagger)
    own = list(tagger.parameters())
    with WeightCast(tagger)(torch.bfloat16):
        assert layer.weight.dtype == torch.bfloat16
        assert all(mine is yours for mine, yours in zip(tagger.parameters(), own, strict=True))
    assert layer.weight is layer._parameters["weight"]


def test_nothing_is_left_when_a_step_fails(build: Build) -> None:
    tagger = build("bert")
    with pytest.raises(RuntimeError, match="in the middle"), WeightCast(tagger)(torch.bfloat16):
        raise RuntimeError("in the middle")
    assert linear(tagger).weight.dtype == torch.float32
    assert "weight" not in linear(tagger).__dict__


def test_layers_that_siblings_share_are_cast_once(build: Build, tweets: Corpus) -> None:
    tagger = build("bert")
    encoder = tagger.encoder
    pair = nn.ModuleList([encoder, encoder.sibling(tweets)])
    assert len(WeightCast(pair).places) == len(WeightCast(encoder).places) > 0


def test_a_layer_that_sits_out_gets_no_gradient(build: Build) -> None:
    tagger = build("bert")
    layers = [layer for layer in tagger.encoder.modules() if isinstance(layer, nn.Linear)]
    with WeightCast(tagger)(torch.bfloat16):
        layers[0].weight.float().sum().backward()
    assert torch.equal(layers[0].weight.grad, torch.ones_like(layers[0].weight))  # type: ignore[arg-type]
    assert layers[1].weight.grad is None


def test_a_tagger_without_a_pre_trained_encoder_has_nothing_to_cast(build: Build) -> None:
    cast = WeightCast(build())
    assert not cast.places
    with cast(torch.bfloat16):
        pass


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_training_is_that_of_autocast(build: Build, news: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def trained(at_once: bool) -> list[float]:
        settings = TrainingSettings(words_per_batch=60, learning_rate=1e-3, updates=6)
        tagger = build("bert", dropout=0.0)
        chosen = CastOnce(tagger) if at_once else Acceleration()
        monkeypatch.setattr("acclimate.training.loop.acceleration_for", lambda *_: chosen)
        stage = Stage("only", {"tag": Tagging()}, Batches({"source": news}, 60, seed=5), settings)
        return [float(done.losses["tag"]) for done in Training(tagger, stage, build_engine(settings, tagger))]

    assert trained(True) == pytest.approx(trained(False), rel=1e-2)


@torch.no_grad()
def test_cast_module_is_the_module_itself_cast_and_leaves_no_trace(build: Build) -> None:
    encoder = build("bert").encoder.eval()
    other = build("bert").encoder.eval()
    other.load_state_dict(encoder.state_dict())
    other.to(torch.bfloat16)
    pieces = torch.randint(5, 20, (3, 11))
    wide = encoder.states(pieces)
    with torch.autocast("cpu", torch.bfloat16), cast_module(encoder, torch.bfloat16):
        found = encoder.states(pieces)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, other.states(pieces))
    assert torch.equal(encoder.states(pieces), wide)


@torch.no_grad()
def test_cast_module_makes_what_stands_twice_once() -> None:
    pair = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    pair[1].weight = pair[0].weight
    with cast_module(pair, torch.bfloat16):
        assert pair[1].weight is pair[0].weight
        assert pair[0].weight.dtype == torch.bfloat16
    assert pair[0].weight.dtype == torch.float32
