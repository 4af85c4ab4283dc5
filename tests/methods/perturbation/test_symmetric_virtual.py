"""BOND's virtual adversarial training: noise by the largest number of each token, and the divergence both ways."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest
import torch
from slow_noise import NOBODY, view_of
from torch import Tensor

from acclimate.data.corpus import Corpus
from acclimate.methods.perturbation.adversarial import LETTERS
from acclimate.methods.perturbation.virtual_adversarial import SymmetricVirtualTraining, both_ways, by_largest
from acclimate.model.cuda_graphs.cast_weights import WeightCast
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger

Build = Callable[..., Tagger]


@pytest.fixture(scope="module", params=[("character-cnn-lstm", "crf"), ("bert", "softmax")], ids="-".join)
def tagger(request: pytest.FixtureRequest, build: Build) -> Tagger:
    encoder, head = request.param
    tagger = build(encoder, head=head).double().eval()
    tagger.scores.weight.data *= 10  # a tagger that has an opinion
    tagger.encoder.stand_alone()
    return tagger


def test_the_largest_number_of_each_token_becomes_1() -> None:
    values = torch.tensor([[[1.0, -4.0], [0.0, 0.0]], [[0.5, 0.25], [-2.0, 1.0]]])
    expected = torch.tensor([[[0.25, -1.0], [0.0, 0.0]], [[1.0, 0.5], [-1.0, 0.5]]])
    assert torch.equal(by_largest(values), expected)
    together = torch.tensor([[[0.25, -1.0], [0.0, 0.0]], [[0.25, 0.125], [-1.0, 0.5]]])
    assert torch.equal(by_largest(values, rows_are_words=True), together)  # the letters of a word together


def slow_both_ways(before: Tensor, view: View) -> Tensor:
    """Two Kullback-Leibler divergences by loops."""
    total = torch.zeros((), dtype=torch.float64)
    for number, sentence in enumerate(view.originals):
        for word in range(len(sentence)):
            for p, q in zip(before[number, word], view.marginals[number, word], strict=True):
                total = total + p * (p / q).log() + q * (q / p).log()
    return total


def moved_by(tagger: Tagger, view: View, size: float) -> View:
    noise = {name: size * torch.ones_like(value) for name, value in view.embeddings.items()}
    return View(tagger, view.sentences).with_noise(noise)


def test_the_divergence_is_that_of_one_way_and_the_other(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news[:3])
    noisy = moved_by(tagger, view, 0.1)
    found = both_ways(view.marginals, noisy)
    torch.testing.assert_close(found, slow_both_ways(view.marginals, noisy))
    torch.testing.assert_close(found, both_ways(noisy.marginals, view))  # it is symmetric
    assert found > 0


def test_two_tags_by_hand() -> None:
    """p = (0.9, 0.1), q = (0.6, 0.4): 0.3 ln 1.5 - 0.3 ln 0.25."""
    mask = torch.ones(1, 1, dtype=torch.bool)
    view = type("", (), {"marginals": torch.tensor([[[0.6, 0.4]]]), "sentences": type("", (), {"mask": mask})})
    found = both_ways(torch.tensor([[[0.9, 0.1]]]), view)  # type: ignore[arg-type]
    assert found.item() == pytest.approx(0.3 * 0.4054651 + 0.3 * 1.3862944)


def slow_loss(tagger: Tagger, view: View, step: float, trial: float) -> Tensor:
    clean = View(tagger, view.sentences)
    noise = {name: trial * torch.randn_like(value) for name, value in clean.embeddings.items()}
    noise = {name: value.detach().requires_grad_() for name, value in noise.items()}
    moved = slow_both_ways(clean.marginals.detach(), View(tagger, view.sentences).with_noise(noise))
    slopes = dict(zip(noise, torch.autograd.grad(moved, list(noise.values())), strict=True))
    inside = tagger.encoder.inside(view.inputs)
    worst = {}
    for name, slope in slopes.items():
        worst[name] = torch.zeros_like(slope)
        for row in range(len(slope)):
            held = [place for place in range(slope.shape[1]) if inside[name][row, place]]
            for token in [held] if name == LETTERS else [[place] for place in held]:
                largest = max((float(slope[row, place].abs().max()) for place in token), default=0.0)
                for place in token:
                    worst[name][row, place] = step * slope[row, place] / largest if largest else 0.0
    return slow_both_ways(clean.marginals, View(tagger, view.sentences).with_noise(worst))


def test_loss_and_gradient_equal_a_slow_loop(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news[:2])
    weights = [weight for weight in tagger.parameters() if weight.requires_grad]
    torch.manual_seed(3)
    found = SymmetricVirtualTraining(0.05, 1e-4).divergence(view)
    torch.manual_seed(3)
    expected = slow_loss(tagger, view, 0.05, 1e-4)
    torch.testing.assert_close(found, expected)
    slopes = [torch.autograd.grad(loss, weights, allow_unused=True) for loss in (found, expected)]
    assert any(slope is not None and slope.any() for slope in slopes[0])
    for mine, theirs in zip(*slopes, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_half_precision_does_not_swallow_noise_this_small(build: Build, news: Corpus) -> None:
    tagger = build("bert").train()
    tagger.scores.weight.data *= 10
    tagger.encoder.stand_alone()
    view = view_of(tagger, *news[:4])
    found = []
    for narrow in (False, True):
        torch.manual_seed(0)
        tagger.zero_grad()
        weights = WeightCast(tagger)(torch.bfloat16) if narrow else nullcontext()
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow), weights:
            loss = SymmetricVirtualTraining()(view, NOBODY)
        loss.backward()
        found.append([loss, *(weight.grad for weight in tagger.parameters() if weight.grad is not None)])
    assert found[0][0] > 0
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.parametrize(("step", "trial", "words"), [(-1.0, 1e-5, "radius is 0 or more"), (1.0, 0.0, "above 0")])
def test_impossible_sizes_are_refused(step: float, trial: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SymmetricVirtualTraining(step, trial)
