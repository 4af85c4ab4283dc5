"""The distribution over subsets as a tree, against enumeration, the plain recursion, and numbers worked out by hand."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from acclimate.methods.masking import subset_distribution
from acclimate.methods.masking.masked_batch import as_hidden
from acclimate.methods.masking.subset_distribution import SequentialSubsetDistribution, SubsetDistribution

# Five places, two to be chosen; all numbers of this block by enumeration.
CHANCES = [0.2, 0.5, 0.9, 0.4, 0.7]
SUBSETS = list(combinations(range(5), 2))
PROBABILITIES = [
    *[0.005707038681039949, 0.05136334812935955, 0.0038046924540266324, 0.01331642358909321, 0.2054533925174382],
    *[0.01521876981610653, 0.05326569435637284, 0.1369689283449588, 0.4793912492073557, 0.03551046290424856],
]
MARGINALS = [0.07419150285351934, 0.2796448953709575, 0.8731769181991123, 0.19150285351934052, 0.5814838300570703]
LOG_PARTITION = 3.7797606485069286
REWARD_GRADIENT = [
    *[-0.1923866744888978, -0.42838376165946035, -0.021376967336019514, 0.06227922067738967, 0.5798681828069887]
]
PAPER_BOUNDARY = [
    *[0.1114330287497214, 0.10028972587474927, 0.004457321149988856, 0.004680187207488299, 0.4011589034989971],
    *[0.017829284599955423, 0.018720748829953195, 0.1604635613995989, 0.16848673946957882, 0.012480499219968827],
]
RELEASED_CODE = [
    *[0.11048747072082023, 0.0994387236487382, 0.004419498828832809, 0.004640473770274449, 0.36749749031641177],
    *[0.016333221791840522, 0.017149882881432547, 0.14872482410587437, 0.15616106531116808, 0.07514734862460706],
]


def law_of(
    scores: Tensor, size: int | list[int], allowed: Tensor | None = None, most: int | None = None
) -> SubsetDistribution:
    sizes = torch.tensor([size] * len(scores) if isinstance(size, int) else size)
    allowed = torch.ones_like(scores, dtype=torch.bool) if allowed is None else allowed
    return SubsetDistribution(scores, allowed, sizes, int(sizes.max()) if most is None else most)


def five(copies: int = 1) -> Tensor:
    return torch.logit(torch.tensor(CHANCES, dtype=torch.float64)).repeat(copies, 1)


def rows_of(subsets: list[tuple[int, ...]], places: int) -> Tensor:
    return torch.tensor([[place in subset for place in range(places)] for subset in subsets])


def by_hand(scores: Tensor, allowed: Tensor, size: int) -> tuple[float, Tensor, Tensor]:
    """Log partition, subsets (subset, place) and their probabilities of one row, the slow way."""
    subsets = list(combinations(allowed.nonzero().flatten().tolist(), size))
    chosen = rows_of(subsets, len(scores))
    weights = torch.where(chosen, scores.double(), 0).sum(1)
    return float(weights.logsumexp(0)), chosen, weights.softmax(0)


def random_problem(rows: int, places: int, spread: float, most: int) -> tuple[Tensor, Tensor, Tensor]:
    scores = spread * (2 * torch.rand(rows, places) - 1)
    allowed = torch.rand(rows, places) < 0.8
    limits = allowed.sum(1).clamp(max=most)
    return scores, allowed, (torch.rand(rows) * (limits + 1)).long().minimum(limits)


# --- numbers worked out beforehand ---


def test_five_places_have_the_probabilities_worked_out_by_hand() -> None:
    found = law_of(five(10), 2).log_probability(rows_of(SUBSETS, 5)).exp()
    assert found.tolist() == pytest.approx(PROBABILITIES, rel=1e-12)
    for wrong in (PAPER_BOUNDARY, RELEASED_CODE):
        assert 0.5 * (found - torch.tensor(wrong)).abs().sum() > 0.36


def test_five_places_have_the_marginals_and_partition_worked_out_by_hand() -> None:
    distribution = law_of(five(), 2)
    assert distribution.marginals()[0].tolist() == pytest.approx(MARGINALS, rel=1e-12)
    assert distribution.log_partition().item() == pytest.approx(LOG_PARTITION, rel=1e-12)
    odds_to_chances = sum(math.log(1 - chance) for chance in CHANCES)
    assert math.exp(distribution.log_partition().item() + odds_to_chances) == pytest.approx(0.3154, rel=1e-12)


def test_the_score_function_gives_the_gradient_of_the_expected_reward() -> None:
    scores, chosen = five(10).requires_grad_(), rows_of(SUBSETS, 5)
    log_probability = law_of(scores, 2).log_probability(chosen)
    rewards = (chosen * torch.arange(1.0, 6.0)).sum(1)
    assert (log_probability.exp() * rewards).sum().item() == pytest.approx(6.926442612555484)
    (log_probability.exp().detach() * rewards * log_probability).sum().backward()
    assert scores.grad is not None
    assert scores.grad.sum(0).tolist() == pytest.approx(REWARD_GRADIENT, rel=1e-9)


@pytest.mark.parametrize(("chance", "log_z"), [(0.5, -37.27954097279976), (1e-20, -823.5390371988641)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nineteen_of_128_equal_places(chance: float, log_z: float, dtype: torch.dtype) -> None:
    score = math.log(chance) - math.log1p(-chance)
    distribution = law_of(torch.full((1, 128), score, dtype=dtype), 19)
    digits = 1e-12 if dtype == torch.float64 else 1e-6
    assert distribution.log_partition().item() + 128 * math.log1p(-chance) == pytest.approx(log_z, rel=digits)
    assert distribution.marginals()[0].tolist() == pytest.approx([0.1484375] * 128, rel=digits)
    assert distribution.log_probability(distribution.draw()).item() == pytest.approx(-51.44329813887324, rel=digits)


def test_equal_scores_give_equal_chances() -> None:
    distribution = law_of(torch.logit(torch.full((15, 6), 0.3, dtype=torch.float64)), 2)
    assert distribution.marginals().flatten().tolist() == pytest.approx([1 / 3] * 90)
    assert distribution.log_probability(rows_of(list(combinations(range(6), 2)), 6)).exp().tolist() == pytest.approx(
        [1 / 15] * 15
    )


# --- against enumeration ---


@given(st.integers(0, 9999), st.integers(1, 8), st.sampled_from([0.0, 1.0, 20.0, 1000.0]))
def test_it_agrees_with_enumeration_for_rows_of_different_sizes(seed: int, places: int, spread: float) -> None:
    torch.manual_seed(seed)
    scores, allowed, sizes = random_problem(4, places, spread, places)
    scores = scores.double().masked_fill(~allowed, torch.nan)
    distribution = SubsetDistribution(scores, allowed, sizes, int(sizes.max()))
    for row, size in enumerate(sizes.tolist()):
        partition, subsets, probabilities = by_hand(scores[row], allowed[row], size)
        assert distribution.log_partition()[row].item() == pytest.approx(partition, rel=1e-10, abs=1e-10)
        assert distribution.marginals()[row].tolist() == pytest.approx(
            (probabilities.unsqueeze(1) * subsets).sum(0), abs=1e-10
        )
        alike = law_of(scores[row].expand(len(subsets), -1), size, allowed[row].expand(len(subsets), -1))
        assert alike.log_probability(subsets).exp().tolist() == pytest.approx(probabilities.tolist(), abs=1e-10)


def test_draws_come_as_often_as_the_law_says() -> None:
    scores = torch.tensor([0.5, -1.0, 2.0, 0.0, -0.3, 1.1])
    _, subsets, probabilities = by_hand(scores, torch.ones(6, dtype=torch.bool), 3)
    drawn = law_of(scores.expand(20_000, -1), 3).draw()
    shares = (drawn.unsqueeze(1) == subsets).all(2).double().mean(0)
    assert ((shares - probabilities).abs() <= 4 * (probabilities * (1 - probabilities) / 20_000).sqrt()).all()
    assert shares.sum().item() == pytest.approx(1)


@given(st.integers(0, 9999), st.integers(1, 40), st.sampled_from([0.0, 3.0, 1000.0]))
def test_a_draw_has_just_its_size_of_allowed_places_and_none_twice(seed: int, places: int, spread: float) -> None:
    torch.manual_seed(seed)
    scores, allowed, sizes = random_problem(5, places, spread, min(places, 12))
    most = min(places, 12)
    hidden = as_hidden(SubsetDistribution(scores, allowed, sizes, most).draw(), most)
    assert hidden.places.shape == (5, most)
    for row, (where, counts) in enumerate(zip(hidden.places.tolist(), hidden.counts.tolist(), strict=True)):
        size = int(sizes[row])
        assert counts == [True] * size + [False] * (most - size)
        assert len(set(where)) == most, "a place written twice"
        assert all(allowed[row, place] for place in where[:size])
        assert where[:size] == sorted(where[:size])


def test_a_sample_is_a_draw_written_as_places() -> None:
    scores, allowed, sizes = random_problem(6, 30, 2.0, 9)
    distribution = SubsetDistribution(scores, allowed, sizes, 9)
    same = [torch.Generator().manual_seed(4) for _ in range(2)]
    assert torch.equal(distribution.draw(same[0]), distribution.draw(same[1]))
    assert not torch.equal(distribution.draw(), distribution.draw())


# --- against the plain recursion: 1e-5 of the value, or 1e-5 where the value is below 1 ---


@pytest.mark.parametrize("spread", [0.0, 1.0, 20.0, 2000.0])
@pytest.mark.parametrize("places", [1, 2, 3, 7, 64, 128, 512])
def test_float32_agrees_with_the_recursion_in_float64(places: int, spread: float) -> None:
    most = min(places, 80)
    scores, allowed, sizes = random_problem(4, places, spread, most)
    sizes[0] = min(most, int(allowed[0].sum()))
    distribution = SubsetDistribution(scores, allowed, sizes, most)
    slow = SequentialSubsetDistribution(scores.double(), allowed, sizes, most)
    chosen = distribution.draw()
    close = {"rtol": 1e-5, "atol": 1e-5, "check_dtype": False}
    torch.testing.assert_close(distribution.log_partition(), slow.log_partition(), **close)
    torch.testing.assert_close(distribution.log_probability(chosen), slow.log_probability(chosen), **close)
    torch.testing.assert_close(distribution.marginals(), slow.marginals(), rtol=0, atol=1e-6, check_dtype=False)
    assert distribution.marginals().sum(1).tolist() == pytest.approx(sizes.tolist(), rel=1e-5)


@pytest.mark.parametrize("size", [1, 17, 79, 150])
@pytest.mark.parametrize(
    "scores",
    [
        torch.cat((torch.full((10,), 1e5), torch.zeros(150))),
        torch.cat((torch.full((10,), -1e5), torch.zeros(150))),
        torch.where(torch.arange(160) % 2 == 0, 700.0, -700.0),
        5.0 * torch.arange(160),
        torch.linspace(-3, 3, 160) ** 7,
        torch.full((160,), 5e4),
    ],
    ids=["far above", "far below", "two heaps", "stairs", "long tails", "all large"],
)
def test_no_shape_of_scores_costs_digits(scores: Tensor, size: int) -> None:
    """The threshold must make K the likeliest number of heads, or probabilities would vanish in float32."""
    distribution = law_of(scores.unsqueeze(0), size)
    slow = SequentialSubsetDistribution(scores.double().unsqueeze(0), distribution.allowed, distribution.sizes, size)
    torch.testing.assert_close(distribution.marginals(), slow.marginals(), rtol=0, atol=1e-6, check_dtype=False)
    torch.testing.assert_close(
        distribution.log_partition(), slow.log_partition(), rtol=1e-6, atol=1e-5, check_dtype=False
    )


# --- what the distribution does not depend on ---


def test_a_constant_added_to_all_scores_changes_nothing() -> None:
    chosen = rows_of(SUBSETS, 5)
    before, after = law_of(five(10), 2), law_of(five(10) + 3, 2)
    torch.testing.assert_close(after.log_probability(chosen), before.log_probability(chosen))
    torch.testing.assert_close(after.log_partition(), before.log_partition() + 6)


def test_places_in_another_order_have_the_same_chances() -> None:
    order, chosen = torch.tensor([3, 0, 4, 2, 1]), rows_of(SUBSETS, 5)
    before, after = law_of(five(10), 2), law_of(five(10)[:, order], 2)
    torch.testing.assert_close(after.log_probability(chosen[:, order]), before.log_probability(chosen))
    torch.testing.assert_close(after.marginals(), before.marginals()[:, order])


def test_batch_mates_and_the_bound_do_not_matter() -> None:
    scores, allowed, sizes = random_problem(5, 23, 2.0, 8)
    together = SubsetDistribution(scores, allowed, sizes, 8)
    alone = SubsetDistribution(scores[2:3], allowed[2:3], sizes[2:3], 20)
    torch.testing.assert_close(alone.log_partition(), together.log_partition()[2:3])
    torch.testing.assert_close(alone.marginals(), together.marginals()[2:3])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_changes_nothing(dtype: torch.dtype) -> None:
    scores, allowed, sizes = random_problem(5, 40, 3.0, 8)
    scores = scores.to(dtype).requires_grad_()
    plain = SubsetDistribution(scores.float(), allowed, sizes, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        distribution = SubsetDistribution(scores, allowed, sizes, 8)
        assert distribution.log_partition().dtype == torch.float32
        assert torch.equal(distribution.log_partition(), plain.log_partition())
        assert torch.equal(distribution.marginals(), plain.marginals())
        distribution.log_partition().sum().backward()
    assert scores.grad is not None
    assert torch.equal(scores.grad, plain.marginals().to(dtype))


# --- gradients ---


def test_gradients_agree_with_finite_differences() -> None:
    scores, allowed, sizes = random_problem(4, 9, 2.0, 5)
    sizes[0] = 0
    sizes[1] = allowed[1].sum().clamp(max=5)
    chosen = SubsetDistribution(scores, allowed, sizes, 5).draw()

    def answers(scores: Tensor) -> tuple[Tensor, Tensor]:
        distribution = SubsetDistribution(scores, allowed, sizes, 5)
        return distribution.log_partition(), distribution.log_probability(chosen)

    assert torch.autograd.gradcheck(answers, scores.double().requires_grad_())


def test_the_gradient_of_log_probability_is_the_chosen_less_the_marginals() -> None:
    scores = five().requires_grad_()
    law_of(scores, 2).log_probability(rows_of([(2, 4)], 5)).backward()
    assert scores.grad is not None
    assert scores.grad[0].tolist() == pytest.approx(
        [-MARGINALS[0], -MARGINALS[1], 0.12682308180088775, -MARGINALS[3], 0.4185161699429297]
    )


@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf, 1e30])
def test_what_is_not_allowed_is_never_chosen_and_has_no_gradient(junk: float) -> None:
    allowed = torch.tensor([[True, False, True, False, True, True]]).repeat(200, 1)
    scores = torch.where(allowed, torch.randn(200, 6), junk).requires_grad_()
    distribution = law_of(scores, 2, allowed)
    chosen = distribution.draw()
    assert not (chosen & ~allowed).any()
    distribution.log_probability(chosen).sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert (scores.grad[~allowed] == 0).all()
    assert (scores.grad[allowed] != 0).any()


@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.parametrize("spread", [1.0, 1000.0])
def test_nothing_and_everything_are_certain(size: int, spread: float) -> None:
    """K = 0, and K = the number of allowed places, also when all others are excluded."""
    allowed = torch.tensor([[False, True, False, True, True, False, False]])
    scores = torch.where(allowed, spread * torch.randn(1, 7), torch.nan).requires_grad_()
    distribution = law_of(scores, size, allowed)
    expected = allowed & (size > 0)
    assert torch.equal(distribution.draw(), expected)
    assert distribution.log_probability(expected).item() == pytest.approx(0, abs=1e-6)
    assert torch.equal(distribution.marginals(), expected.float())
    distribution.log_partition().sum().backward()
    assert torch.equal(scores.grad, expected.float())


def test_other_than_the_law_s_subsets_have_no_chance_and_no_gradient() -> None:
    scores = torch.randn(3, 4, requires_grad=True)
    distribution = law_of(scores, 2, torch.tensor([[True, True, True, False]]).repeat(3, 1))
    answer = distribution.log_probability(rows_of([(0,), (0, 1, 2), (0, 3)], 4))
    assert answer.tolist() == [-math.inf] * 3
    answer.sum().backward()
    assert scores.grad is not None
    assert (scores.grad == 0).all()


def test_a_second_derivative_is_refused_and_not_taken_for_zero() -> None:
    scores = torch.randn(1, 4, requires_grad=True)
    with pytest.raises(RuntimeError, match="differentiated only once"):
        torch.autograd.grad(law_of(scores, 2).log_partition().sum(), scores, create_graph=True)


# --- learning from rewards ---


def test_a_reward_that_never_changes_teaches_nothing() -> None:
    """Unlike the Gumbel path, see `test_sequential_subset_distribution.py`: here it is exact, subset by subset."""
    scores = five(10).requires_grad_()
    log_probability = law_of(scores, 2).log_probability(rows_of(SUBSETS, 5))
    (log_probability.exp().detach() * log_probability).sum().backward()
    assert scores.grad is not None
    assert scores.grad.sum(0).tolist() == pytest.approx([0] * 5, abs=1e-12)


def test_a_place_that_is_rewarded_is_chosen_more_and_more() -> None:
    scores = torch.zeros(6, requires_grad=True)
    optimizer = torch.optim.SGD([scores], lr=0.5)
    probabilities = []
    for update in range(60):
        distribution = law_of(scores.expand(128, -1), 2)
        if update % 15 == 0:
            probabilities.append(distribution.marginals()[0, 0].item())
        chosen = distribution.draw()
        reward = chosen[:, 0].float()
        optimizer.zero_grad()
        (-(reward - reward.mean()) * distribution.log_probability(chosen)).mean().backward()
        optimizer.step()
    assert probabilities == sorted(probabilities)
    assert probabilities[0] == pytest.approx(1 / 3)
    assert probabilities[-1] > 0.7


# --- too much asked for, and devices ---


def test_more_choices_than_places_are_refused() -> None:
    with pytest.raises(ValueError, match="Row 1 is to choose 3 of 2 allowed places"):
        law_of(torch.zeros(2, 3), [1, 3], torch.tensor([[True, True, True], [True, False, True]]))
    with pytest.raises(ValueError, match="no row more than 2"):
        law_of(torch.zeros(1, 3), 3, most=2)
    with pytest.raises(ValueError, match="Row 0 is to choose -1"):
        law_of(torch.zeros(1, 3), -1, most=2)
    with pytest.raises(ValueError, match="most is 4, but a row has 3 places"):
        law_of(torch.zeros(1, 3), 3, most=4)


def test_where_nobody_looks_a_row_of_too_many_choices_gives_all_its_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subset_distribution, "refuse_impossible", lambda *_: None)
    allowed = torch.tensor([[True, False, True, False], [True, True, True, True], [False] * 4])
    distribution = law_of(torch.randn(3, 4), [3, 4, 1], allowed, most=3)
    assert distribution.sizes.tolist() == [2, 3, 0]
    assert torch.equal(distribution.draw()[0], allowed[0])
    assert distribution.draw().sum(1).tolist() == [2, 3, 0]
    assert distribution.log_probability(distribution.draw()).isfinite().all()


def test_rows_and_bounds_of_nothing_work() -> None:
    assert law_of(torch.zeros(2, 5), 0).draw().sum() == 0
    assert law_of(torch.zeros(2, 0), 0).log_partition().tolist() == [0, 0]
    assert SubsetDistribution(torch.zeros(0, 5), torch.ones(0, 5).bool(), torch.zeros(0).long(), 2).draw().shape == (
        0,
        5,
    )


def learn_and_draw(scores: Tensor, allowed: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    distribution = SubsetDistribution(scores, allowed, sizes, 6)
    chosen = distribution.draw()
    return distribution.log_partition(), distribution.log_probability(chosen), distribution.marginals(), chosen


def test_it_is_one_graph_for_torch_compile() -> None:
    """A whole graph also proves that nothing waits for numbers: whatever did would break the graph."""
    scores, allowed, sizes = random_problem(3, 21, 2.0, 6)
    scores.requires_grad_()
    partition, chosen, marginals, counts = torch.compile(learn_and_draw, fullgraph=True, backend="eager")(
        scores, allowed, sizes
    )
    plain = SubsetDistribution(scores, allowed, sizes, 6)
    torch.testing.assert_close(partition, plain.log_partition())
    torch.testing.assert_close(marginals, plain.marginals())
    assert counts.sum(1).tolist() == sizes.tolist()
    chosen.sum().backward()
    assert scores.grad is not None
    assert scores.grad.sum(1).tolist() == pytest.approx([0] * 3, abs=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gives_the_same_answers_and_never_waits() -> None:
    scores, allowed, sizes = random_problem(8, 130, 5.0, 6)
    there = [scores.cuda().requires_grad_(), allowed.cuda(), sizes.cuda()]
    learn_and_draw(*there)  # the first call loads kernels
    torch.cuda.set_sync_debug_mode("error")
    try:
        partition, chosen, marginals, counts = learn_and_draw(*there)
        chosen.sum().backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    plain = SubsetDistribution(scores, allowed, sizes, 6)
    torch.testing.assert_close(partition.cpu(), plain.log_partition(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(marginals.cpu(), plain.marginals(), rtol=0, atol=1e-6)
    assert counts.sum(1).tolist() == sizes.tolist()
