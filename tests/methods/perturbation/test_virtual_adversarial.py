"""Virtual adversarial training: no labels, no dropout, and the noise that moves the tags most."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from slow_noise import NOBODY, RADII, view_of
from torch import Tensor

from acclimate.data.corpus import Corpus
from acclimate.methods.perturbation.adversarial import noise_for
from acclimate.methods.perturbation.virtual_adversarial import VirtualAdversarialTraining, dropout_held_still
from acclimate.model.learner import NoView, View
from acclimate.model.tagger import Tagger

Build = Callable[..., Tagger]
NO_SOURCE = NoView("source")


@pytest.fixture(
    scope="module",
    params=[("character-cnn-lstm", "crf"), ("character-cnn-lstm", "softmax"), ("bert", "crf"), ("bert", "softmax")],
    ids="-".join,
)
def tagger(request: pytest.FixtureRequest, build: Build) -> Tagger:
    encoder, head = request.param
    tagger = build(encoder, head=head).double().eval()
    tagger.scores.weight.data *= 10  # a tagger that has an opinion
    tagger.encoder.stand_alone()
    return tagger


def slow_divergence(clean: View, noisy: View) -> Tensor:
    """KL by a loop over words and tags."""
    total = torch.zeros((), dtype=torch.float64)
    for number, sentence in enumerate(clean.originals):
        for word in range(len(sentence)):
            for p, q in zip(clean.marginals[number, word], noisy.marginals[number, word], strict=True):
                total = total + p * (p / q).log()
    return total


def virtual(radii: dict[str, float] = RADII, **options: object) -> VirtualAdversarialTraining:
    return VirtualAdversarialTraining(radii, **options)


@pytest.mark.parametrize("radii", [{}, {"words": 0.0, "characters": 0.0, "pieces": 0.0}, {"nonsense": 1.0}])
def test_without_noise_it_is_zero_and_moves_nothing(tagger: Tagger, news: Corpus, radii: dict[str, float]) -> None:
    tagger.zero_grad()
    loss = virtual(radii)(view_of(tagger, *news[:4]), NOBODY)
    assert loss.item() == 0
    loss.backward()
    assert all(weight.grad is None for weight in tagger.parameters())


def test_with_noise_it_is_above_zero(tagger: Tagger, news: Corpus, tweets: Corpus) -> None:
    assert virtual()(view_of(tagger, *news[:4]), view_of(tagger, *tweets[:4])) > 1e-6


def test_it_needs_no_labels_and_does_not_look_at_any(tagger: Tagger, news: Corpus) -> None:
    found = []
    for corpus in (news[:4], news[:4].unlabelled()):
        torch.manual_seed(1)
        found.append(virtual()(view_of(tagger, *corpus), NOBODY))
    assert torch.equal(*found)


def test_it_is_the_mean_over_the_words_of_all_domains(tagger: Tagger, news: Corpus, tweets: Corpus) -> None:
    views = view_of(tagger, *news[:3]), view_of(tagger, *tweets[:4])
    torch.manual_seed(1)
    both = virtual()(*views)
    torch.manual_seed(1)
    sums = [virtual().divergence(view) for view in views]
    torch.testing.assert_close(both, (sums[0] + sums[1]) / (news[:3].word_count + tweets[:4].word_count))
    torch.manual_seed(1)
    alone = virtual(domains=["target"])(*views)
    torch.manual_seed(1)
    torch.testing.assert_close(alone, virtual().divergence(views[1]) / tweets[:4].word_count)


def test_it_equals_a_slow_loop_over_the_power_method(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news[:2])
    radii = {name: radius for name, radius in RADII.items() if name in view.embeddings}
    torch.manual_seed(4)
    found = virtual(steps=2, first=0.1).divergence(view)
    torch.manual_seed(4)
    noise = {name: torch.randn_like(view.embeddings[name]) for name in radii}
    clean = View(tagger, view.sentences, {name: value.detach() for name, value in view.embeddings.items()})
    clean.marginals = clean.marginals.detach()
    for _ in range(2):
        trial = noise_for(view, noise, {name: 0.1 * radius for name, radius in radii.items()})
        trial = {name: value.requires_grad_() for name, value in trial.items()}
        moved = slow_divergence(clean, view.with_noise(trial))
        noise = dict(zip(trial, torch.autograd.grad(moved, list(trial.values()), retain_graph=True), strict=True))
    expected = slow_divergence(clean, view.with_noise(noise_for(view, noise, radii)))
    torch.testing.assert_close(found, expected)


def test_its_noise_is_worse_than_a_random_one_of_the_same_size(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news[:6])
    clean = view.marginals.detach()
    worst = torch.stack([virtual().divergence(view) for _ in range(8)]).mean()
    random = []
    for _ in range(8):
        noise = noise_for(view, {name: torch.randn_like(value) for name, value in view.embeddings.items()}, RADII)
        after = view.with_noise(noise).marginals
        random.append((clean * (clean.log() - after.log()))[view.sentences.mask].sum())
    assert worst > 1.5 * torch.stack(random).mean()


def test_more_steps_of_the_power_method_do_not_find_a_weaker_noise(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news[:6])
    one, five = (torch.stack([virtual(steps=n).divergence(view) for _ in range(4)]).mean() for n in (1, 5))
    assert five > 0.95 * one


def test_a_sentence_s_batch_mates_do_not_matter(tagger: Tagger, news: Corpus, monkeypatch) -> None:
    def waves(like: Tensor) -> Tensor:
        """The same first direction, in a batch or alone."""
        _, place, size = like.shape
        return (torch.arange(place).unsqueeze(1) + torch.arange(size) ** 2).sin().expand_as(like).to(like)

    monkeypatch.setattr(torch, "randn_like", waves)
    together = virtual().divergence(view_of(tagger, *news[:4]))
    apart = sum(virtual().divergence(view_of(tagger, sentence)) for sentence in news[:4])
    torch.testing.assert_close(together, apart)


def test_the_gradient_comes_through_the_noisy_pass_only(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news[:2])
    radii = {name: radius for name, radius in RADII.items() if name in view.embeddings}
    weights = [weight for weight in tagger.parameters() if weight.requires_grad]
    torch.manual_seed(4)
    found = torch.autograd.grad(virtual().divergence(view), weights, allow_unused=True)
    torch.manual_seed(4)
    noise = {name: torch.randn_like(view.embeddings[name]) for name in radii}
    clean = view.marginals.detach()[view.sentences.mask]

    def moved(noise: dict[str, Tensor]) -> Tensor:
        after = View(tagger, view.sentences).with_noise(noise).marginals[view.sentences.mask]
        return (clean * (clean.log() - after.log())).sum()

    trial = noise_for(view, noise, {name: 1e-2 * radius for name, radius in radii.items()})
    trial = {name: value.requires_grad_() for name, value in trial.items()}
    noise = dict(zip(trial, torch.autograd.grad(moved(trial), list(trial.values())), strict=True))
    expected = torch.autograd.grad(moved(noise_for(view, noise, radii)), weights, allow_unused=True)
    assert any(slope is not None and slope.any() for slope in found)
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            torch.testing.assert_close(mine, theirs)


# --- dropout ---


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
def test_dropout_is_held_still(build: Build, news: Corpus, encoder: str) -> None:
    found = []
    for dropout, training in ((0.5, True), (0.5, True), (0.0, True), (0.5, False)):
        more = {"forget_rare": 0.0} if encoder == "character-cnn-lstm" else {}
        tagger = build(encoder, dropout=dropout, **more).train(training)
        tagger.encoder.stand_alone()
        torch.manual_seed(1)
        found.append(virtual()(tagger.view(news[:4].sentences), NOBODY))
    assert all(torch.equal(other, found[0]) for other in found)


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
def test_modes_are_as_they_were_afterwards(build: Build, news: Corpus, bert: str, encoder: str) -> None:
    more = {"contextual": {"encoder": bert}} if encoder == "character-cnn-lstm" else {}
    tagger = build(encoder, **more).train()
    tagger.encoder.stand_alone()
    tagger.scores.eval()  # a part that sleeps through training
    before = [module.training for module in tagger.modules()]
    assert not all(before)
    virtual()(tagger.view(news[:2].sentences), NOBODY)
    assert [module.training for module in tagger.modules()] == before
    with dropout_held_still(tagger):
        assert not any(m.training for m in tagger.modules() if not isinstance(m, torch.nn.RNNBase))
    assert [module.training for module in tagger.modules()] == before


def test_modes_are_as_they_were_after_a_failure_too(build: Build, news: Corpus) -> None:
    tagger = build().train()  # words do not stand alone
    with pytest.raises(ValueError, match="stand_alone"):
        virtual()(tagger.view(news[:2].sentences), NOBODY)
    assert all(module.training for module in tagger.modules())


def test_recurrent_layers_stay_awake_and_have_no_dropout_of_their_own(build: Build) -> None:
    tagger = build(lstm_layers=2, dropout=0.5).train()
    lstms = [module for module in tagger.modules() if isinstance(module, torch.nn.RNNBase)]
    with dropout_held_still(tagger):
        assert all(lstm.training and lstm.dropout == 0 for lstm in lstms)
    assert lstms


def test_features_of_the_given_view_are_neither_used_nor_changed(build: Build, news: Corpus) -> None:
    tagger = build(dropout=0.5).train()
    tagger.encoder.stand_alone()
    view = tagger.view(news[:4].sentences)
    before = view.features
    virtual()(view, NOBODY).backward()
    assert view.features is before


# --- what it refuses ---


def test_it_says_which_domain_is_missing(tagger: Tagger, tweets: Corpus) -> None:
    assert virtual()(NO_SOURCE, view_of(tagger, *tweets[:2])).isfinite()
    with pytest.raises(ValueError, match="needs source sentences"):
        virtual(domains=["source"])(NO_SOURCE, view_of(tagger, *tweets[:2]))
    with pytest.raises(ValueError, match="needs source sentences"):
        virtual()(NO_SOURCE, NOBODY)


def test_odd_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one step, not 0"):
        virtual(steps=0)
    with pytest.raises(ValueError, match=r"A radius is 0 or more, not -0\.1"):
        virtual({"words": -0.1})


def test_words_stand_alone_from_beginning_to_end(build: Build) -> None:
    tagger, objective = build(), virtual()
    objective.begin(tagger)
    assert not tagger.encoder.share_characters
    objective.end(tagger)
    assert tagger.encoder.share_characters


def test_a_tagger_without_doubts_gives_no_direction_and_no_trouble(build: Build, news: Corpus) -> None:
    tagger = build(head="softmax").eval()
    tagger.encoder.stand_alone()
    tagger.scores.weight.data.zero_()
    tagger.scores.bias.data = torch.arange(len(tagger.tags)) * 100.0
    loss = virtual()(view_of(tagger, *news[:4]), NOBODY)
    loss.backward()
    assert loss.item() == 0
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in tagger.parameters())
