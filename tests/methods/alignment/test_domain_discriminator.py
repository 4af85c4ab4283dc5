"""The resource-adversarial discriminator: its loss by hand, and whose gradient is turned round."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.methods.alignment.domain_discriminator import (
    DomainDiscriminator,
    grad_loss,
    plain_loss,
    undecided_logit,
)
from acclimate.model.learner import NoView
from acclimate.training.settings import ganin_ramp

SOURCE_AND_TARGET = torch.tensor([True, False])
LOGITS = torch.tensor([0.9, 0.2], dtype=torch.float64).logit()  # r = 0.9 for the source sentence, 0.2 for the target
NO_SOURCE, NO_TARGET = NoView("source"), NoView("target")
RELEASED = 0.0024948368022866627  # a two-way softmax with a term for each output, whatever alpha is


def text(features: Tensor, lengths: list[int] | None = None) -> Any:
    """A view that has nothing but shared features."""
    lengths = lengths or [features.shape[1]] * len(features)
    mask = torch.arange(features.shape[1]) < torch.tensor(lengths).unsqueeze(1)
    return SimpleNamespace(shared_features=features, sentences=SimpleNamespace(mask=mask))


def two_domains(width: int = 4) -> tuple[Tensor, Tensor]:
    return torch.randn(3, 5, width).double().requires_grad_(), torch.randn(2, 4, width).double().requires_grad_()


def discriminator(width: int = 4, **options: Any) -> DomainDiscriminator:
    torch.manual_seed(1)
    return DomainDiscriminator(width, **options).double()


# the loss


def test_the_worked_example_of_equation_one() -> None:
    losses = grad_loss(LOGITS, SOURCE_AND_TARGET, alpha=0.3, gamma=2)
    assert losses.tolist() == pytest.approx([0.0003160815469734787, 0.006248019436797873], rel=1e-9)
    assert losses.sum().item() == pytest.approx(0.0065641009837713515)
    assert losses.mean().item() == pytest.approx(0.0032820504918856758)


def test_the_slopes_of_the_worked_example() -> None:
    logits = LOGITS.clone().requires_grad_()
    (slopes,) = torch.autograd.grad(grad_loss(logits, SOURCE_AND_TARGET, 0.3, 2).sum(), logits)
    assert slopes.tolist() == pytest.approx([-0.0008689467845522614, 0.0155968310988766], rel=1e-9)


def test_plain_loss_of_the_worked_example() -> None:
    assert plain_loss(LOGITS, SOURCE_AND_TARGET).sum().item() == pytest.approx(0.328504066972036)


def test_alpha_matters_and_the_loss_in_which_it_cancels_does_not_come_out() -> None:
    found = [grad_loss(LOGITS, SOURCE_AND_TARGET, alpha, 2).mean().item() for alpha in (0.1, 0.3, 0.9)]
    assert len(set(found)) == 3
    assert RELEASED not in [pytest.approx(loss, rel=1e-3) for loss in found]


def test_alpha_weighs_the_source_and_what_is_left_the_target() -> None:
    alike = torch.zeros(2)
    source, target = grad_loss(alike, SOURCE_AND_TARGET, 0.2, 2).tolist()
    assert target / source == pytest.approx(4)


def test_without_focus_and_at_even_weights_it_is_half_the_plain_loss() -> None:
    logits, is_source = torch.randn(20), torch.arange(20) % 3 > 0
    torch.testing.assert_close(grad_loss(logits, is_source, 0.5, 0), plain_loss(logits, is_source) / 2)


def test_a_well_classified_sentence_weighs_less_the_larger_gamma_is() -> None:
    easy_and_hard = torch.tensor([3.0, -1.0])
    shares = []
    for gamma in (0, 0.5, 1, 2, 5):
        easy, hard = grad_loss(easy_and_hard, torch.tensor([True, True]), 0.5, gamma)
        shares.append((easy / (easy + hard)).item())
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 10 * shares[-1]


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("logit", [-1e4, -100.0, 0.0, 100.0, 1e4])
def test_even_absurd_logits_give_numbers_and_slopes(logit: float, gamma: float) -> None:
    logits = torch.tensor([logit, logit], requires_grad=True)
    for losses in (grad_loss(logits, SOURCE_AND_TARGET, 0.25, gamma), plain_loss(logits, SOURCE_AND_TARGET)):
        (slopes,) = torch.autograd.grad(losses.sum(), logits)
        assert losses.isfinite().all()
        assert slopes.isfinite().all()


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_the_slope_of_the_loss_is_right(gamma: float) -> None:
    logits, is_source = torch.randn(6).double().requires_grad_(), torch.arange(6) % 2 == 0
    assert torch.autograd.gradcheck(lambda logits: grad_loss(logits, is_source, 0.3, gamma), (logits,))
    assert torch.autograd.gradcheck(lambda logits: plain_loss(logits, is_source), (logits,))


def test_half_precision_is_widened_first() -> None:
    assert grad_loss(LOGITS.bfloat16(), SOURCE_AND_TARGET, 0.3, 2).dtype == torch.float32


@pytest.mark.parametrize(("alpha", "gamma"), [(0.25, 0.0), (0.25, 2.0), (0.8, 2.0), (0.1, 5.0), (0.5, 2.0)])
def test_even_odds_are_called_by_the_logit_that_costs_least(alpha: float, gamma: float) -> None:
    grid = torch.linspace(-4, 4, 80_001).double()
    sides = [torch.full_like(grid, side, dtype=torch.bool) for side in (True, False)]
    best = grid[sum(grad_loss(grid, side, alpha, gamma) for side in sides).argmin()]
    assert undecided_logit(alpha, gamma) == pytest.approx(best.item(), abs=2e-4)


# the game


@pytest.mark.parametrize("kind", ["grad", "plain"])
def test_it_is_the_mean_over_the_sentences_of_both_domains(kind: str) -> None:
    player, (source, target) = discriminator(kind=kind), two_domains()
    logits = torch.cat([player.logits(text(source)), player.logits(text(target))])
    is_source = torch.tensor([True] * 3 + [False] * 2)
    losses = plain_loss(logits, is_source) if kind == "plain" else grad_loss(logits, is_source, 0.25, 2)
    torch.testing.assert_close(player(text(source), text(target)), losses.mean())


def test_its_slope_is_the_slope_of_the_loss_when_nothing_is_turned_round() -> None:
    player, (source, target) = discriminator(), two_domains()
    player.strength_now = -1.0  # turns what was turned

    def loss(source: Tensor, target: Tensor) -> Tensor:
        result: Tensor = player(text(source, [5, 1, 3]), text(target, [2, 4]))
        return result

    assert torch.autograd.gradcheck(loss, (source, target))


def test_features_get_exactly_minus_lambda_times_the_slope_and_the_discriminator_its_own() -> None:
    player, (source, target) = discriminator(strength=0.7), two_domains()
    own = list(player.parameters())
    domains = ((source, True), (target, False))

    def slopes(reverse: bool) -> tuple[Tensor, ...]:
        losses = [player.losses(player.logits(text(part), reverse), is_source) for part, is_source in domains]
        return torch.autograd.grad(torch.cat(losses).mean(), [source, target, *own])

    turned, straight = slopes(reverse=True), slopes(reverse=False)
    torch.testing.assert_close(turned[:2], tuple(-0.7 * slope for slope in straight[:2]))
    torch.testing.assert_close(turned[2:], straight[2:])
    assert all(slope.any() for slope in turned)
    loss = player(text(source), text(target))
    torch.testing.assert_close(torch.autograd.grad(loss, [source, target, *own]), turned)


def test_a_step_of_everybody_lets_the_discriminator_see_better_and_the_features_show_less() -> None:
    player, (source, target) = discriminator(kind="plain"), two_domains()

    def loss() -> float:
        return float(player(text(source), text(target)).detach())

    before = loss()
    features, own = [source, target], list(player.parameters())
    slopes = torch.autograd.grad(player(text(source), text(target)), [*features, *own])
    for group, moved, is_better in ((features, slopes[:2], False), (own, slopes[2:], True)):
        kept = [weight.detach().clone() for weight in group]
        with torch.no_grad():
            for weight, slope in zip(group, moved, strict=True):
                weight -= 0.01 * slope
            assert (loss() < before) == is_better
            for weight, old in zip(group, kept, strict=True):
                weight.copy_(old)


def test_padding_and_batch_mates_do_not_matter() -> None:
    player, (source, _) = discriminator(), two_domains()
    padded = torch.cat([source, torch.full((3, 2, 4), 1e3).double()], 1)
    together = player.logits(text(padded, [5, 5, 5]))
    torch.testing.assert_close(together, torch.cat([player.logits(text(row.unsqueeze(0))) for row in source]))


def test_a_domain_that_is_not_there_counts_nothing() -> None:
    player, (source, target) = discriminator(), two_domains()
    one, other, both = (
        player(text(source), NO_TARGET),
        player(NO_SOURCE, text(target)),
        player(text(source), text(target)),
    )
    torch.testing.assert_close((3 * one + 2 * other) / 5, both)
    assert not torch.isclose(one, other)


def test_without_either_domain_it_says_what_is_missing() -> None:
    with pytest.raises(ValueError, match="needs source sentences, but the stage's batches have none"):
        discriminator()(NO_SOURCE, NO_TARGET)


def test_the_same_text_as_both_domains_is_told_by_its_role() -> None:
    player, (source, _) = discriminator(kind="plain"), two_domains()
    view = text(source)
    logits = player.logits(view)
    expected = (plain_loss(logits, torch.tensor([True] * 3)) + plain_loss(logits, torch.tensor([False] * 3))).mean() / 2
    torch.testing.assert_close(player(view, view), expected)


def test_the_strength_follows_the_ramp_by_the_number_of_the_update() -> None:
    player = discriminator(strength=0.5, ramp=ganin_ramp(10))
    found = []
    for update in (0, 5, 9, 5):
        player.before_update(update)
        found.append(player.strength_now)
    assert found[0] == 0
    assert found[1] == found[3] == pytest.approx(0.5 * 0.986614298)
    assert found[1] < found[2] < 0.5


def test_at_strength_zero_no_gradient_reaches_the_features() -> None:
    player, (source, target) = discriminator(strength=0), two_domains()
    slopes = torch.autograd.grad(player(text(source), text(target)), [source, target, *player.parameters()])
    assert not any(slope.any() for slope in slopes[:2])
    assert all(slope.any() for slope in slopes[2:])
