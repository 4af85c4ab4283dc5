"""The distribution told place by place: the right table, the paper's boundary, and the Gumbel path."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
import torch
from torch import Tensor

from acclimate.methods.masking.subset_distribution import SequentialSubsetDistribution, gumbel_path

CHANCES = torch.tensor([0.2, 0.5, 0.9, 0.4, 0.7], dtype=torch.float64)
SUBSETS = list(combinations(range(5), 2))
RIGHT_TABLE = {  # (first place, left): summed weight with the probabilities of no, equation 7 for the places from there
    (0, 0): 0.0072, (0, 1): 0.0954, (0, 2): 0.3154, (1, 0): 0.009, (1, 1): 0.117, (1, 2): 0.365,
    (2, 0): 0.018, (2, 1): 0.216, (2, 2): 0.514, (3, 0): 0.18, (3, 1): 0.54, (3, 2): 0.28, (4, 0): 0.3, (4, 1): 0.7,
}  # fmt: skip
RIGHT_YES = {
    (0, 1): 0.018867924528301883, (0, 2): 0.07419150285351934, (1, 1): 0.07692307692307691,
    (1, 2): 0.29589041095890417, (2, 1): 0.75, (2, 2): 0.9455252918287939, (3, 1): 0.22222222222222224,
    (3, 2): 1.0, (4, 1): 1.0,
}  # fmt: skip
RIGHT = [
    *[0.005707038681039949, 0.05136334812935955, 0.0038046924540266324, 0.01331642358909321, 0.2054533925174382],
    *[0.01521876981610653, 0.05326569435637284, 0.1369689283449588, 0.4793912492073557, 0.03551046290424856],
]
PAPER = [
    *[0.1114330287497214, 0.10028972587474927, 0.004457321149988856, 0.004680187207488299, 0.4011589034989971],
    *[0.017829284599955423, 0.018720748829953195, 0.1604635613995989, 0.16848673946957882, 0.012480499219968827],
]
PAPER_MARGINALS = [
    *[0.22086026298194783, 0.5491419656786272, 0.830398930242924, 0.195230666369512, 0.20436817472698915]
]
PAPER_MARGINALS_OF_SIX_EQUAL = [
    *[0.4304384943733024, 0.4304384943733024, 0.383872720217307, 0.3186806363989135],
    *[0.25022894838960036, 0.1863407062475747],
]


def law_of(scores: Tensor, size: int, *, paper: bool = False) -> SequentialSubsetDistribution:
    allowed = torch.ones_like(scores, dtype=torch.bool)
    return SequentialSubsetDistribution(scores, allowed, torch.full((len(scores),), size), size, paper_boundary=paper)


def five(copies: int = 1) -> Tensor:
    return torch.logit(CHANCES).repeat(copies, 1)


def rows_of(subsets: list[tuple[int, ...]], places: int) -> Tensor:
    return torch.tensor([[place in subset for place in range(places)] for subset in subsets])


def probabilities(scores: Tensor, *, paper: bool) -> list[float]:
    found: list[float] = law_of(scores, 2, paper=paper).log_probability(rows_of(SUBSETS, 5)).exp().tolist()
    return found


# --- the right distribution ---


def test_the_table_holds_what_equation_7_sums_to() -> None:
    distribution = law_of(five(), 2)
    for (place, left), weight in RIGHT_TABLE.items():
        refused = (1 - CHANCES[place:]).log().sum()
        assert (distribution.tables[place][0, left] + refused).exp().item() == pytest.approx(weight)


def test_each_place_says_yes_as_often_as_worked_out_by_hand() -> None:
    distribution = law_of(five(), 2)
    for (place, left), chance in RIGHT_YES.items():
        log_yes, log_no = distribution.choice(place, torch.tensor([[left]]))
        assert log_yes.exp().item() == pytest.approx(chance)
        assert log_yes.exp() + log_no.exp() == pytest.approx(1)


def test_the_right_law_has_the_right_probabilities() -> None:
    assert probabilities(five(10), paper=False) == pytest.approx(RIGHT)


def test_its_gradient_is_its_marginals() -> None:
    scores = torch.randn(3, 12, dtype=torch.float64).requires_grad_()
    distribution = law_of(scores, 4)
    (slope,) = torch.autograd.grad(distribution.log_partition().sum(), scores)
    torch.testing.assert_close(slope, distribution.marginals())
    assert torch.autograd.gradcheck(lambda scores: law_of(scores, 4).log_partition(), scores)


# --- the paper's boundary ---


def test_the_paper_s_boundary_gives_the_law_that_was_printed() -> None:
    distribution = law_of(five(), 2, paper=True)
    assert distribution.log_partition().exp().item() == pytest.approx(0.8974)
    assert probabilities(five(10), paper=True) == pytest.approx(PAPER)
    assert distribution.marginals()[0].tolist() == pytest.approx(PAPER_MARGINALS)


def test_the_paper_s_boundary_favours_early_places_among_equals() -> None:
    scores = torch.logit(torch.full((1, 6), 0.3, dtype=torch.float64))
    assert law_of(scores, 2, paper=True).marginals()[0].tolist() == pytest.approx(PAPER_MARGINALS_OF_SIX_EQUAL)
    assert law_of(scores, 2).marginals()[0].tolist() == pytest.approx([1 / 3] * 6)


@pytest.mark.parametrize("paper", [False, True])
def test_only_the_paper_s_law_changes_with_a_constant_or_with_the_order(paper: bool) -> None:
    order = torch.tensor([3, 0, 4, 2, 1])
    before = law_of(five(10), 2, paper=paper).log_probability(rows_of(SUBSETS, 5))
    shifted = law_of(five(10) + 1, 2, paper=paper).log_probability(rows_of(SUBSETS, 5))
    ordered = law_of(five(10)[:, order], 2, paper=paper).log_probability(rows_of(SUBSETS, 5)[:, order])
    assert torch.allclose(before, shifted) is not paper
    assert torch.allclose(before, ordered) is not paper


# --- draws ---


@pytest.mark.parametrize(("paper", "probabilities"), [(False, RIGHT), (True, PAPER)])
def test_draws_come_as_often_as_the_law_says(paper: bool, probabilities: list[float]) -> None:
    drawn = law_of(five(20_000), 2, paper=paper).draw()
    shares = (drawn.unsqueeze(1) == rows_of(SUBSETS, 5)).all(2).double().mean(0)
    expected = torch.tensor(probabilities)
    assert ((shares - expected).abs() <= 4 * (expected * (1 - expected) / 20_000).sqrt()).all()
    assert shares.sum().item() == pytest.approx(1)


def a_masked_law(scores: Tensor) -> SequentialSubsetDistribution:
    allowed = (torch.arange(scores.shape[1]) % 3 > 0).repeat(len(scores), 1)
    sizes = torch.arange(len(scores)) % 5
    return SequentialSubsetDistribution(torch.where(allowed, scores, torch.nan), allowed, sizes, 4)


def test_draws_have_just_their_size_and_keep_to_what_is_allowed() -> None:
    distribution = a_masked_law(5 * torch.randn(50, 6))
    chosen = distribution.draw()
    assert chosen.sum(1).tolist() == distribution.sizes.tolist()
    assert distribution.allowed[chosen].all()


# --- the Gumbel path ---


def test_the_gumbel_path_stops_counting_at_the_last_pick() -> None:
    """At a high temperature every choice has the probability 1/2, but for forced ones."""
    path = gumbel_path(law_of(torch.randn(40, 9, dtype=torch.float64), 3), temperature=1e9)
    left = 3 - path.chosen.long().cumsum(1) + path.chosen.long()
    is_open = (left > 0) & (left < 9 - torch.arange(9))
    torch.testing.assert_close(path.log_product, math.log(0.5) * is_open.sum(1).double())


def test_all_gradients_of_the_gumbel_path_are_finite_and_zero_where_nothing_is_allowed() -> None:
    scores = (5 * torch.randn(50, 6)).requires_grad_()
    distribution = a_masked_law(scores)
    path = gumbel_path(distribution)
    path.log_product.sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert (scores.grad[~distribution.allowed] == 0).all()
    assert (scores.grad[distribution.allowed] != 0).any()


def test_the_gumbel_path_s_gradients_agree_with_finite_differences() -> None:
    def path(scores: Tensor) -> Tensor:
        return gumbel_path(law_of(scores, 3), 0.7, torch.Generator().manual_seed(5)).log_product

    assert torch.autograd.gradcheck(path, torch.randn(2, 7, dtype=torch.float64).requires_grad_())


@pytest.mark.parametrize(
    ("chance", "when_yes", "when_no"),
    [
        (0.1, 0.029842500254620912, -0.11382720643326767),
        (0.2, 0.057776164782211946, -0.1405736586093696),
        (0.5, 0.125, -0.125),
        (0.8, 0.14057365860936924, -0.05777616478221207),
        (0.9, 0.11382720643326827, -0.029842500254621013),
    ],
)
def test_a_reward_that_never_changes_drives_the_gumbel_path_and_not_the_score_function(
    chance: float, when_yes: float, when_no: float
) -> None:
    """Two places, one pick: the only choice is whether it is the first. Weights of the two rewards by quadrature."""
    scores = torch.tensor([math.log(chance / (1 - chance)), 0.0], dtype=torch.float64).repeat(40_000, 1)
    distribution = law_of(scores.requires_grad_(), 1)
    path = gumbel_path(distribution)
    (slope,) = torch.autograd.grad(path.log_product.sum(), scores, retain_graph=True)
    yes = path.chosen[:, 0]
    assert_mean(slope[:, 0] * yes, when_yes)
    assert_mean(slope[:, 0] * ~yes, when_no)
    assert_mean(slope[:, 0], when_yes + when_no)
    (slope,) = torch.autograd.grad(distribution.log_probability(path.chosen).sum(), scores)
    assert_mean(slope[:, 0] * yes, chance * (1 - chance))
    assert_mean(slope[:, 0], 0)


def assert_mean(numbers: Tensor, expected: float) -> None:
    assert numbers.mean().item() == pytest.approx(expected, abs=4 * numbers.std().item() / len(numbers) ** 0.5)
