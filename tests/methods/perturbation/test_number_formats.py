"""Adversarial training in half precision and on a GPU: every weight still learns, and as in full precision."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from slow_noise import NOBODY, RADII
from torch import Tensor

from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Objective, Tagging
from acclimate.methods.perturbation.adversarial import AdversarialTraining
from acclimate.methods.perturbation.virtual_adversarial import VirtualAdversarialTraining
from acclimate.methods.perturbation.word_changes import WordChanges
from acclimate.model.learner import View
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger

Build = Callable[..., Tagger]
no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
gpu = pytest.param("cuda", marks=[pytest.mark.gpu, no_gpu])
devices = pytest.mark.parametrize("device", ["cpu", gpu])
encoders = pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
OBJECTIVES: dict[str, Callable[[], Objective]] = {
    "adversarial": lambda: AdversarialTraining(Tagging(), {"source": RADII}),
    "virtual": lambda: VirtualAdversarialTraining(0.05, domains=["source"]),
}


def tagger_on(build: Build, device: str, encoder: str, **options: object) -> Tagger:
    if encoder == "character-cnn-lstm":
        options = {"forget_rare": 0.0, "normalise": "weighted", **options}
    tagger = build(encoder, dropout=0.0, **options).to(device).train()
    for module in tagger.modules():
        if isinstance(module, torch.nn.Dropout):  # those inside a pre-trained encoder
            module.p = 0.0
    tagger.encoder.stand_alone()
    tagger.scores.weight.data *= 5
    return tagger


def learnt(tagger: Tagger, view: View, objective: Objective, dtype: torch.dtype | None) -> tuple[float, Tensor]:
    tagger.zero_grad()
    torch.manual_seed(0)
    with torch.autocast(tagger.device.type, dtype, enabled=dtype is not None):
        loss = objective(view, NOBODY)
    loss.backward()
    silent = [n for n, p in tagger.named_parameters() if p.requires_grad and (p.grad is None or not p.grad.any())]
    assert [name for name in silent if not name.endswith(("key.bias", "word_table.special"))] == []
    return loss.item(), torch.cat([p.grad.flatten().cpu() for p in tagger.parameters() if p.grad is not None])


@devices
@encoders
def test_half_precision_teaches_nearly_the_same(build: Build, news: Corpus, device: str, encoder: str) -> None:
    tagger = tagger_on(build, device, encoder)
    view = tagger.view(news[:8].sentences)
    exact, slopes = learnt(tagger, View(tagger, view.sentences), OBJECTIVES["adversarial"](), None)
    narrow, rough = learnt(tagger, View(tagger, view.sentences), OBJECTIVES["adversarial"](), torch.bfloat16)
    assert narrow == pytest.approx(exact, rel=0.05)
    assert torch.cosine_similarity(slopes, rough, dim=0) > 0.95


class Little(Objective):
    """Tagging whose gradient is too small for fp16, and can be told from nothing once the loss is scaled."""

    def forward(self, source: View, target: View) -> Tensor:
        loss: Tensor = 1e-7 * Tagging()(source, target)
        return loss


def scaled_slopes(tagger: Tagger, news: Corpus, objective: Objective, scale: float) -> Tensor:
    """The gradient in fp16, as a training with a scaled loss has it."""
    tagger.zero_grad()
    objective.loss_scale = scale
    with torch.autocast(tagger.device.type, torch.float16):
        loss = objective(tagger.view(news[:8].sentences), NOBODY)
    (65536.0 * loss).backward()
    return torch.cat([p.grad.flatten().cpu() / 65536.0 for p in tagger.parameters() if p.grad is not None])


@devices
def test_gradients_of_the_clean_loss_do_not_vanish_in_fp16(build: Build, news: Corpus, device: str) -> None:
    tagger = tagger_on(build, device, "bert")
    exact = learnt(tagger, tagger.view(news[:8].sentences), AdversarialTraining(Little(), {"source": RADII}), None)[1]
    found = scaled_slopes(tagger, news, AdversarialTraining(Little(), {"source": RADII}), 65536.0)
    assert (found - exact).norm() < 0.05 * exact.norm()
    unscaled = scaled_slopes(tagger, news, AdversarialTraining(Little(), {"source": RADII}), 1.0)
    assert (unscaled - exact).norm() > 0.3 * exact.norm()


def test_a_scaled_loss_has_the_same_noise_and_the_same_gradient(build: Build, news: Corpus) -> None:
    tagger = tagger_on(build, "cpu", "bert").double()
    for name in OBJECTIVES:
        found = []
        for scale in (1.0, 1024.0):
            objective = OBJECTIVES[name]()
            objective.loss_scale = scale
            found.append(learnt(tagger, tagger.view(news[:8].sentences), objective, None))
        assert found[1][0] == pytest.approx(found[0][0], rel=1e-6)
        torch.testing.assert_close(found[1][1], found[0][1], rtol=1e-5, atol=1e-9)


class AfterVirtual(Objective):
    """Plain tagging, after virtual training has looked at the sentences without a gradient."""

    def forward(self, source: View, target: View) -> Tensor:
        loss: Tensor = 0 * OBJECTIVES["virtual"]()(source, target) + Tagging()(source, target)
        return loss


@devices
@encoders
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_virtual_training_teaches_every_weight_and_takes_nothing_from_others(
    build, news, device, encoder, dtype
) -> None:
    tagger = tagger_on(build, device, encoder)
    view = tagger.view(news[:4].sentences)
    loss, slopes = learnt(tagger, View(tagger, view.sentences), OBJECTIVES["virtual"](), dtype)
    assert loss > 0
    assert slopes.isfinite().all()
    _, alone = learnt(tagger, View(tagger, view.sentences), Tagging(), dtype)
    _, after = learnt(tagger, View(tagger, view.sentences), AfterVirtual(), dtype)
    torch.testing.assert_close(after, alone)


@pytest.mark.gpu
@no_gpu
@encoders
@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_gpu_gives_what_a_cpu_gives(build: Build, news: Corpus, encoder: str, name: str, monkeypatch) -> None:
    monkeypatch.setattr(torch, "randn_like", lambda like: torch.linspace(-1, 1, like.numel()).view_as(like).to(like))
    found = []
    for device in ("cpu", "cuda"):
        tagger = tagger_on(build, device, encoder).double()
        found.append(learnt(tagger, tagger.view(news[:8].sentences), OBJECTIVES[name](), None))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-5)
    torch.testing.assert_close(found[1][1], found[0][1], rtol=1e-4, atol=1e-7)


@devices
@encoders
def test_the_same_dropout_can_be_had_on_any_device(build: Build, news: Corpus, device: str, encoder: str) -> None:
    tagger = build(encoder, dropout=0.5).to(device).train()
    objective = AdversarialTraining(Tagging(), {}, same_dropout=True)
    objective(tagger.view(news[:6].sentences), NOBODY)
    assert torch.equal(objective.parts["clean"], objective.parts["noisy"])


@devices
@encoders
def test_words_change_on_any_device(build: Build, news: Corpus, device: str, encoder: str) -> None:
    tagger = build(encoder).to(device).train()
    changes = WordChanges(sorted(news.vocabulary), rate=1.0, hide=0.5)
    objective = AdversarialTraining(Tagging(), {"source": RADII}, changes=changes)
    objective.begin(tagger)
    loss = objective(tagger.view(news[:8].sentences), NOBODY)
    loss.backward()
    assert loss.isfinite()


@devices
def test_siblings_come_into_being_on_any_device(build: Build, news: Corpus, tweets: Corpus, device: str) -> None:
    for encoder in ("character-cnn-lstm", "bert"):
        source = build(encoder).to(device)
        source.split()
        target = source.sibling(tweets.labels, source.encoder.sibling(tweets))
        both = Siblings({"source": source, "target": target})
        assert {tensor.device.type for tensor in (*both.parameters(), *both.buffers())} == {device}
        assert both.view(tweets.sentences, "target").losses.isfinite().all()
