"""Watching the game: a look that leaves no trace, and words when it goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.alignment.domain_discriminator import DiscriminatorDiagnostics, DomainDiscriminator, diagnosis
from acclimate.model.tagger import Tagger


@pytest.fixture
def tagger(build: Callable[..., Tagger]) -> Tagger:
    return build().train()


@pytest.fixture
def game(tagger: Tagger, news: Corpus, tweets: Corpus) -> DiscriminatorDiagnostics:
    torch.manual_seed(3)
    player = DomainDiscriminator(tagger.encoder.width)
    return DiscriminatorDiagnostics(player, {"source": news.sentences, "target": tweets.sentences})


def favour(game: DiscriminatorDiagnostics, logit: float) -> None:
    """Let the discriminator give every sentence the same logit."""
    with torch.no_grad():
        game.discriminator.score.weight.zero_()
        game.discriminator.score.bias.fill_(logit)


def rows(*accuracies: float, sentences: int | None = 1000) -> list[dict[str, Any]]:
    size = {} if sentences is None else {"sentences": sentences}
    return [{"kind": "game", "update": 10 * n, "accuracy": value, **size} for n, value in enumerate(accuracies)]


@pytest.mark.parametrize(("logit", "source", "target"), [(3.0, 1, 0), (-3.0, 0, 1)])
def test_who_calls_everything_by_one_name_is_at_chance_whatever_the_sizes(
    tagger: Tagger, game: DiscriminatorDiagnostics, logit: float, source: int, target: int
) -> None:
    favour(game, logit)
    found = game(tagger)
    assert (found["source_accuracy"], found["target_accuracy"], found["accuracy"]) == (source, target, 0.5)


@torch.no_grad()
def test_the_numbers_are_those_of_a_slow_loop(tagger: Tagger, game: DiscriminatorDiagnostics) -> None:
    found, player = game(tagger), game.discriminator
    tagger.eval()
    shares, losses = [], []
    for domain, sentences in game.held_out.items():
        logits = [player.logits(tagger.view([sentence], domain))[0] for sentence in sentences]
        shares.append(sum((logit > player.border) == (domain == "source") for logit in logits) / len(logits))
        losses.append(sum(player.losses(logit, domain == "source") for logit in logits) / len(logits))
    assert [found["source_accuracy"], found["target_accuracy"]] == pytest.approx([float(share) for share in shares])
    assert found["accuracy"] == pytest.approx(float(sum(shares)) / 2)
    assert found["loss"] == pytest.approx(float(sum(losses)) / 2, rel=1e-5)


def test_the_border_lies_where_the_loss_puts_even_odds(tagger: Tagger, game: DiscriminatorDiagnostics) -> None:
    favour(game, -0.3)  # r = 0.43: with alpha = 0.25 that is rather source than target
    assert game.discriminator.border == pytest.approx(-0.41, abs=0.01)
    assert game(tagger)["source_accuracy"] == 1


def test_more_sentences_than_are_read_at_once_are_all_counted(
    tagger: Tagger, game: DiscriminatorDiagnostics, news: Corpus, tweets: Corpus
) -> None:
    many = DiscriminatorDiagnostics(game.discriminator, {"source": news.sentences * 4, "target": tweets.sentences * 9})
    one, other = game(tagger), many(tagger)
    assert {name: other[name] for name in one if name != "sentences"} == pytest.approx(
        {name: one[name] for name in one if name != "sentences"}, rel=1e-5
    )


def test_sizes_that_differ_count_as_like_ones_that_are_as_sure(
    tagger: Tagger, game: DiscriminatorDiagnostics, news: Corpus
) -> None:
    assert game(tagger)["sentences"] == round(4 / (1 / 24 + 1 / 10))
    even = DiscriminatorDiagnostics(game.discriminator, {"source": news.sentences, "target": news.sentences})
    assert even(tagger)["sentences"] == 48


def test_a_look_leaves_no_trace(tagger: Tagger, game: DiscriminatorDiagnostics) -> None:
    sleeping = next(module for module in tagger.modules() if module is not tagger)
    sleeping.training = False
    modes = [module.training for module in (*tagger.modules(), *game.discriminator.modules())]
    weights = {name: value.clone() for name, value in tagger.state_dict().items()}
    stream = torch.get_rng_state()
    first, second = game(tagger), game(tagger)
    assert first == second  # no dropout, no forgotten words
    assert torch.equal(torch.get_rng_state(), stream)
    assert [module.training for module in (*tagger.modules(), *game.discriminator.modules())] == modes
    assert all(torch.equal(value, weights[name]) for name, value in tagger.state_dict().items())
    assert all(weight.grad is None for weight in (*tagger.parameters(), *game.discriminator.parameters()))


def test_modes_are_restored_even_when_a_look_fails(tagger: Tagger, game: DiscriminatorDiagnostics) -> None:
    broken = DiscriminatorDiagnostics(DomainDiscriminator(tagger.encoder.width + 1), game.held_out)
    with pytest.raises(RuntimeError):
        broken(tagger)
    assert tagger.training
    assert broken.discriminator.training


def test_tags_that_the_tagger_does_not_know_are_no_hindrance(tagger: Tagger, game: DiscriminatorDiagnostics) -> None:
    strange = [Sentence(("hi", "there"), ("B-creative-work", "O"))]
    assert DiscriminatorDiagnostics(game.discriminator, {**game.held_out, "target": strange})(tagger)["loss"] > 0


def test_one_that_never_beats_chance_is_told() -> None:
    told = diagnosis(rows(0.5, 0.51, 0.49, 0.52))
    assert told is not None
    assert "no better than chance at any of 4 evaluations (accuracy 0.49 to 0.52)" in told
    assert "options.strength" in told
    assert "options.ramp" in told


def test_one_that_wins_outright_is_told() -> None:
    told = diagnosis(rows(0.7, 0.9, 0.96, 0.97, 0.99))
    assert told is not None
    assert "told the domains apart to the end (accuracy 0.99)" in told
    assert "larger options.strength" in told


def test_one_that_cannot_keep_up_is_told() -> None:
    told = diagnosis(rows(0.5, 0.6, 0.02, 0.1, 0.17))
    assert told is not None
    assert "wrong about most sentences to the end (accuracy 0.17)" in told
    assert "smaller options.strength" in told


@pytest.mark.parametrize(
    "accuracies",
    [
        (0.8, 0.7, 0.6, 0.51, 0.5),  # it was good, and the features took its context away
        (0.5, 0.6, 0.7),
        (0.98, 0.99, 0.97, 0.8),
        (0.99, 0.97, 0.7, 0.99),  # one peak is not the end
        (0.45, 0.4, 0.5),
        (0.23, 0.1, 0.31),  # such games swing
    ],
)
def test_a_healthy_game_needs_no_words(accuracies: tuple[float, ...]) -> None:
    assert diagnosis(rows(*accuracies)) is None


@pytest.mark.parametrize("accuracies", [(), (0.5,), (0.5, 0.5), (0.99, 0.99)])
def test_a_few_looks_are_not_enough(accuracies: tuple[float, ...]) -> None:
    assert diagnosis(rows(*accuracies)) is None


def test_how_near_chance_is_depends_on_how_many_sentences_were_looked_at() -> None:
    swaying = (0.56, 0.44, 0.5)
    assert diagnosis(rows(*swaying, sentences=10_000)) is None
    assert "no better than chance" in str(diagnosis(rows(*swaying, sentences=200)))
    assert diagnosis(rows(*swaying, sentences=40)) is None  # 0.65 would look the same there


def test_a_win_on_a_handful_of_sentences_may_be_luck() -> None:
    assert diagnosis(rows(1.0, 1.0, 1.0, sentences=10)) is None
    assert diagnosis(rows(0.0, 0.0, 0.0, sentences=10)) is None
    assert diagnosis(rows(1.0, 1.0, 1.0, sentences=40)) is not None


def test_without_a_number_of_sentences_they_are_taken_for_many() -> None:
    assert diagnosis(rows(0.5, 0.52, 0.5, sentences=None)) is not None
    assert diagnosis(rows(0.5, 0.56, 0.5, sentences=None)) is None


def test_other_rows_of_the_record_are_passed_over() -> None:
    others = [{"kind": "evaluation", "update": 5, "score": 0.3}] * 4
    assert diagnosis([*others, *rows(0.5, 0.5, 0.5)]) == diagnosis(rows(0.5, 0.5, 0.5))
    assert diagnosis(others) is None
