"""Virtual adversarial training: no labels, no dropout, noise by each token's largest value, divergence both ways."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from slow_noise import NOBODY, view_of
from torch import Tensor

from acclimate.data.corpus import Corpus
from acclimate.methods.perturbation.adversarial import LETTERS
from acclimate.methods.perturbation.virtual_adversarial import (
    VirtualAdversarialTraining,
    both_ways,
    by_largest,
)
from acclimate.model.learner import NoView, View, eval_mode
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


def virtual(step: float = 0.05, **options: object) -> VirtualAdversarialTraining:
    return VirtualAdversarialTraining(step, **options)


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
    rows = tagger.encoder.embedding_rows(view.inputs)
    worst = {}
    for name, slope in slopes.items():
        worst[name] = torch.zeros_like(slope)
        for row in range(len(slope)):
            held = [place for place in range(slope.shape[1]) if rows[name].inside[row, place]]
            for token in [held] if name == LETTERS else [[place] for place in held]:
                largest = max((float(slope[row, place].abs().max()) for place in token), default=0.0)
                for place in token:
                    worst[name][row, place] = step * slope[row, place] / largest if largest else 0.0
    return slow_both_ways(clean.marginals, View(tagger, view.sentences).with_noise(worst))


def test_loss_and_gradient_equal_a_slow_loop(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news[:2])
    weights = [weight for weight in tagger.parameters() if weight.requires_grad]
    torch.manual_seed(3)
    found = VirtualAdversarialTraining(0.05, 1e-4).divergence(view)
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
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            loss = VirtualAdversarialTraining()(view, NOBODY)
        loss.backward()
        found.append([loss, *(weight.grad for weight in tagger.parameters() if weight.grad is not None)])
    assert found[0][0] > 0
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


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


def test_a_sentence_s_batch_mates_do_not_matter(tagger: Tagger, news: Corpus, monkeypatch) -> None:
    def waves(like: Tensor) -> Tensor:
        """The same first direction, in a batch or alone."""
        _, place, size = like.shape
        return (torch.arange(place).unsqueeze(1) + torch.arange(size) ** 2).sin().expand_as(like).to(like)

    monkeypatch.setattr(torch, "randn_like", waves)
    together = virtual().divergence(view_of(tagger, *news[:4]))
    apart = sum(virtual().divergence(view_of(tagger, sentence)) for sentence in news[:4])
    torch.testing.assert_close(together, apart)


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
    with eval_mode(tagger, but=(torch.nn.RNNBase,)):
        assert not any(m.training for m in tagger.modules() if not isinstance(m, torch.nn.RNNBase))
    assert [module.training for module in tagger.modules()] == before


def test_modes_are_as_they_were_after_a_failure_too(build: Build, news: Corpus, monkeypatch) -> None:
    def no_memory(like: Tensor) -> Tensor:
        raise MemoryError

    tagger = build().train()
    monkeypatch.setattr(torch, "randn_like", no_memory)
    with pytest.raises(MemoryError):
        virtual()(tagger.view(news[:2].sentences), NOBODY)
    assert all(module.training for module in tagger.modules())


def test_recurrent_layers_stay_awake_and_have_no_dropout_of_their_own(build: Build) -> None:
    tagger = build(lstm_layers=2, dropout=0.5).train()
    lstms = [module for module in tagger.modules() if isinstance(module, torch.nn.RNNBase)]
    with eval_mode(tagger, but=(torch.nn.RNNBase,)):
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
