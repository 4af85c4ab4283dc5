"""Contrast: the worked numbers, the others of the batch, and the twins."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.contrastive import Contrast, contrastive_losses
from acclimate.model.learner import NoView
from acclimate.model.tagger import Tagger

# Oracle 9_pdaln_contrastive: the second sentence and its twin are the two negatives of the first
ANCHORS = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
TWINS = torch.tensor([[0.8, 0.6], [-0.6, 0.8]], dtype=torch.float64)
ENCODERS = ["character-cnn-lstm", "bert"]


@pytest.mark.parametrize(("temperature", "loss"), [(0.05, 1.1253586151838135e-07), (0.5, 0.23325749699550302)])
def test_the_worked_numbers(temperature: float, loss: float) -> None:
    assert contrastive_losses(ANCHORS, TWINS, temperature)[0].item() == pytest.approx(loss, rel=1e-8)


def test_the_temperature_outside_the_exponential_does_not_come_out() -> None:
    products = [float(ANCHORS[0] @ other) for other in (TWINS[0], ANCHORS[1], TWINS[1])]
    printed = -math.log(math.exp(products[0]) / 0.05 / sum(math.exp(product / 0.05) for product in products))
    assert printed == pytest.approx(12.20426783898187)
    assert contrastive_losses(ANCHORS, TWINS, 0.05)[0].item() < 1e-6


def slow_losses(anchors: Tensor, twins: Tensor, temperature: float) -> list[float]:
    found = []
    for number in range(len(anchors)):
        others = [row[other] for row in (anchors, twins) for other in range(len(anchors)) if other != number]
        scores = [float(anchors[number] @ other) / temperature for other in (twins[number], *others)]
        assert len(scores) == 2 * len(anchors) - 1
        found.append(-math.log(math.exp(scores[0]) / sum(map(math.exp, scores))))
    return found


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_other_sentence_and_its_twin_stand_against_the_own_twin(count: int) -> None:
    anchors, twins = torch.randn(count, 3).double(), torch.randn(count, 3).double()
    assert contrastive_losses(anchors, twins, 0.7).tolist() == pytest.approx(slow_losses(anchors, twins, 0.7))


@pytest.mark.parametrize("count", [1, 2, 8])
def test_where_all_are_alike_it_is_the_log_of_how_many_there_are(count: int) -> None:
    same = torch.ones(count, 4).double() / 2
    assert contrastive_losses(same, same).tolist() == pytest.approx([math.log(2 * count - 1)] * count)


def test_it_is_the_lower_the_nearer_the_twin() -> None:
    losses = [
        float(
            contrastive_losses(
                ANCHORS, torch.stack([torch.tensor([math.cos(a), math.sin(a)]).double(), TWINS[1]]), 0.5
            )[0]
        )
        for a in (0.0, 0.3, 0.8, 1.5)
    ]
    assert losses == sorted(losses)
    assert losses[0] < losses[-1]


def test_its_gradient_is_exact() -> None:
    anchors, twins = (torch.randn(4, 3).double().requires_grad_() for _ in range(2))
    assert torch.autograd.gradcheck(lambda a, t: contrastive_losses(a, t, 0.3), (anchors, twins))


def test_large_products_do_not_overflow() -> None:
    anchors, twins = (1e3 * torch.randn(4, 30)).requires_grad_(), 1e3 * torch.randn(4, 30)
    losses = contrastive_losses(anchors, twins)
    losses.sum().backward()
    assert losses.isfinite().all()
    assert anchors.grad is not None
    assert anchors.grad.isfinite().all()


def test_autocast_does_not_narrow_it() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        inside = contrastive_losses(ANCHORS.float(), TWINS.float(), 0.5)
    assert torch.equal(inside, contrastive_losses(ANCHORS.float(), TWINS.float(), 0.5))


# the objective


def shorter(sentence: Sentence, dice: random.Random) -> Sentence:
    """Without one word, where there is more than one."""
    place = dice.randrange(len(sentence))
    return Sentence((*sentence.words[:place], *sentence.words[place + 1 :])) if len(sentence) > 1 else sentence


def as_it_is(sentence: Sentence, dice: random.Random) -> Sentence:
    return sentence


def contrast(tagger: Tagger, edit: Any = shorter, **options: Any) -> Contrast:
    torch.manual_seed(0)
    return Contrast(tagger.encoder.sentence_width, edit, 6, **options)


def loss_of(objective: Contrast, tagger: Tagger, source: Sequence[Sentence], target: Sequence[Sentence]) -> Tensor:
    found: Tensor = objective(tagger.view(source), tagger.view(target))
    return found


@pytest.mark.parametrize("encoder", ENCODERS)
def test_sentences_of_both_domains_take_part_with_labels_or_without(
    build: Callable[..., Tagger], news: Corpus, tweets: Corpus, encoder: str
) -> None:
    tagger = build(encoder).eval()
    objective = contrast(tagger, as_it_is)
    source, target = news[:3].sentences, tweets[:2].unlabelled().sentences
    rows = objective.vectors(tagger.view([*source, *target]))
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(5))
    expected = contrastive_losses(rows, rows).mean()
    torch.testing.assert_close(loss_of(objective, tagger, source, target), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_it_reaches_the_encoder_and_its_own_matrix(
    build: Callable[..., Tagger], news: Corpus, tweets: Corpus, encoder: str
) -> None:
    tagger = build(encoder)
    objective = contrast(tagger)
    loss_of(objective, tagger, news[:3].sentences, tweets[:3].sentences).backward()
    reached = {name.split(".")[0] for name, weight in tagger.named_parameters() if weight.grad is not None}
    assert reached == {"encoder"}
    assert objective.project.weight.grad.abs().sum() > 0


def test_twins_depend_on_the_seed_and_the_update_alone(build: Callable[..., Tagger], tweets: Corpus) -> None:
    tagger = build().eval()

    def twins(seed: int, update: int) -> list[Sentence]:
        objective = contrast(tagger, seed=seed)
        objective.before_update(update)
        return list(objective.twin(tagger.view(tweets.sentences)).originals)

    assert twins(1, 5) == twins(1, 5)
    assert twins(1, 5) != twins(1, 6)
    assert twins(1, 5) != twins(2, 5)


def test_twins_have_no_tags(build: Callable[..., Tagger], tweets: Corpus) -> None:
    tagger = build().eval()
    twins = contrast(tagger).twin(tagger.view(tweets.sentences))
    assert all(twin.tags is None for twin in twins.originals)


def test_without_normalising_the_vectors_keep_their_length(build: Callable[..., Tagger], tweets: Corpus) -> None:
    tagger = build().eval()
    objective = contrast(tagger, normalise=False)
    view = tagger.view(tweets.sentences)
    torch.testing.assert_close(objective.vectors(view), view.sentence_vectors @ objective.project.weight.T)


def test_both_ways_is_the_mean_of_the_two(build: Callable[..., Tagger], news: Corpus, tweets: Corpus) -> None:
    tagger = build().eval()
    one, both = contrast(tagger), contrast(tagger, symmetric=True)
    views = tagger.view(news[:3].sentences), tagger.view(tweets[:3].sentences)
    anchors = torch.cat([one.vectors(view) for view in views])
    one.before_update(0)
    twins = torch.cat([one.vectors(one.twin(view)) for view in views])
    expected = (contrastive_losses(anchors, twins) + contrastive_losses(twins, anchors)).mean() / 2
    torch.testing.assert_close(both(*views), expected)


def test_one_domain_is_enough_and_none_is_not(build: Callable[..., Tagger], news: Corpus) -> None:
    tagger = build().eval()
    objective = contrast(tagger)
    assert objective(tagger.view(news[:3].sentences), NoView("target")).isfinite()
    with pytest.raises(ValueError, match="needs source sentences"):
        objective(NoView("source"), NoView("target"))
