"""Substitutes: the distribution against worked numbers and a slow loop, and draws against the distribution."""

from __future__ import annotations

from itertools import combinations
from math import exp, pi, sqrt
from statistics import median, pstdev
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from acclimate.methods.perturbation.word_changes import (
    Substitutes,
    gaussian_scores,
    substitution_probabilities,
    typical_distances,
    uniform_probabilities,
)

# paris, london, berlin, pineapple
CITIES = torch.tensor([[0.0, 0.0], [0.6, 0.8], [1.2, 1.6], [3.0, 4.0]])
BUMP = (1.2, 0.5)
PARIS = torch.tensor([0])

LAWS = {
    ("pdf", "softmax"): [0.0, 0.48159160487214764, 0.2878380083408522, 0.23057038678700023],
    ("unit", "softmax"): [0.0, 0.520318401815218, 0.27296999738015126, 0.20671160080463072],
    ("pdf", "sum"): [0.0, 0.7685247834988341, 0.231475216500927, 2.3876837209235465e-13],
    ("unit", "sum"): [0.0, 0.7685247834988342, 0.23147521650092703, 2.387683720923547e-13],
}
FULL = [
    [0.0, 0.48159160487214764, 0.2878380083408522, 0.23057038678700023],
    [0.40342629732770263, 0.0, 0.40342629732770263, 0.19314740534459457],
    [0.28775676146754986, 0.4814556679528712, 0.0, 0.23078757057957872],
    [0.3331973136749556, 0.3331973548755327, 0.333605331449512, 0.0],
]
WITH_ITSELF = [0.194284043844242, 0.38802604039614846, 0.23191567610831879, 0.18577423965129086]

gaussians = pytest.mark.parametrize("gaussian", ["pdf", "unit"])
normalisers = pytest.mark.parametrize("normalise", ["softmax", "sum"])


def all_of(count: int, *but: int) -> Tensor:
    return torch.tensor([number not in but for number in range(count)])


def table(count: int = 40, size: int = 6, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(count, size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def close(found: Tensor, expected: Any, within: float = 1e-6) -> None:
    torch.testing.assert_close(found, torch.as_tensor(expected, dtype=found.dtype), rtol=0, atol=within)


def slow_law(
    vectors: Tensor,
    chosen: int,
    candidates: Tensor,
    mean: float,
    deviation: float,
    gaussian: str,
    normalise: str,
    t: float,
) -> list[float]:
    rows = vectors.double().tolist()
    weights = []
    for number, row in enumerate(rows):
        distance = sqrt(sum((a - b) ** 2 for a, b in zip(row, rows[chosen], strict=True)))
        score = exp(-(((distance - mean) / deviation) ** 2) / 2)
        score = score / (deviation * sqrt(2 * pi)) if gaussian == "pdf" else score
        weight = exp(score / t) if normalise == "softmax" else score ** (1 / t)
        weights.append(weight if candidates[number] and number != chosen else 0.0)
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize(
    ("gaussian", "expected"),
    [
        ("pdf", [0.0447890605896858, 0.7365402806066468, 0.2218416693589111, 2.288312980360274e-13]),
        ("unit", [0.056134762834133725, 0.9231163463866359, 0.2780373004531941, 2.867975008888098e-13]),
    ],
)
def test_the_scores_are_the_worked_ones(gaussian: Any, expected: list[float]) -> None:
    distances = torch.tensor([0.0, 1.0, 2.0, 5.0])
    close(gaussian_scores(distances, *BUMP, gaussian), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("gaussian", "normalise"), LAWS)
def test_the_law_is_the_worked_one(gaussian: Any, normalise: Any, dtype: torch.dtype) -> None:
    distribution = substitution_probabilities(CITIES.to(dtype), PARIS, all_of(4), *BUMP, gaussian, normalise)
    assert distribution.dtype == dtype
    close(distribution, [LAWS[gaussian, normalise]])


def test_the_law_of_all_words_is_the_worked_one() -> None:
    close(substitution_probabilities(CITIES, torch.arange(4), all_of(4), *BUMP), FULL)


def test_a_law_in_which_a_word_stands_in_for_itself_is_another() -> None:
    distribution = substitution_probabilities(CITIES, PARIS, all_of(4), *BUMP)
    assert (distribution[0] - torch.tensor(WITH_ITSELF)).abs().min() > 0.04


@gaussians
@normalisers
@given(st.integers(2, 12), st.integers(0, 999), st.floats(0, 4), st.floats(0.3, 3), st.floats(0.3, 3))
def test_the_law_is_that_of_a_slow_and_obvious_loop(gaussian, normalise, count, seed, mean, deviation, heat) -> None:
    vectors = table(count, 3, seed, torch.float64)
    candidates = torch.rand(count, generator=torch.Generator().manual_seed(seed)) < 0.7
    chosen = torch.arange(count)
    distribution = substitution_probabilities(vectors, chosen, candidates, mean, deviation, gaussian, normalise, heat)
    for number in range(count):
        if any(candidates[other] for other in range(count) if other != number):
            question = (vectors, number, candidates, mean, deviation, gaussian, normalise, heat)
            close(distribution[number], slow_law(*question), 1e-9)
        else:
            assert not distribution[number].any()


@gaussians
@normalisers
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_sum_to_one_and_itself_and_specials_have_no_chance(gaussian, normalise, scale, dtype) -> None:
    vectors = (table() * scale).to(dtype)
    chosen = torch.tensor([0, 5, 5, 39])
    distribution = substitution_probabilities(
        vectors, chosen, all_of(40, 0, 1, 39), 3.0 * scale, scale, gaussian, normalise
    )
    assert distribution.dtype == torch.float32
    close(distribution.sum(-1), torch.ones(4))
    assert (distribution[:, [0, 1, 39]] == 0).all()
    assert (distribution[1:3, 5] == 0).all()


def test_vectors_are_not_normalised() -> None:
    """Two words in one direction are apart by their lengths."""
    distribution = substitution_probabilities(CITIES, PARIS + 1, all_of(4, 0), 1.0, 0.1, "unit", "sum")
    close(distribution, [[0.0, 0.0, 1.0, 0.0]])


def test_a_small_distance_between_large_vectors_is_not_lost() -> None:
    """By way of products, as `cdist` goes for many rows, the distance of 0.01 would vanish in 32 bits."""
    vectors = torch.full((40, 8), 100.0)
    vectors[:, 0] += 0.01 * torch.arange(40)
    distribution = substitution_probabilities(vectors, torch.arange(40), all_of(40), 0.01, 0.001, "unit", "sum")
    assert distribution[0, 1] > 0.999
    assert distribution[20, 19] + distribution[20, 21] > 0.999


@pytest.mark.parametrize("count", [3, 50, 20_000])
def test_a_softmax_of_a_bump_of_height_one_is_nearly_flat(count: int) -> None:
    """The best word is at most e times as likely as the worst, however many there are."""
    vectors = 10 * table(count, 2)
    probabilities = substitution_probabilities(vectors, PARIS, all_of(count), 5.0, 0.5, "unit")[0, 1:]
    assert probabilities.max() / probabilities.min() <= exp(1) * (1 + 1e-6)
    assert probabilities.max() <= exp(1) / (count - 1)


def test_the_best_word_can_be_e_times_as_likely_as_the_worst_and_a_sum_is_sharp() -> None:
    vectors = torch.tensor([[0.0], [1.0], [99.0]])
    flat, sharp = (
        substitution_probabilities(vectors, PARIS, all_of(3), 1.0, 0.5, "unit", how)[0] for how in ("softmax", "sum")
    )
    assert float(flat[1] / flat[2]) == pytest.approx(exp(1), rel=1e-5)
    assert sharp.tolist() == [0, 1, 0]


def test_a_narrow_density_makes_the_softmax_sharp() -> None:
    vectors = torch.tensor([[0.0], [1.0], [2.0]])
    assert substitution_probabilities(vectors, PARIS, all_of(3), 1.0, 0.01)[0, 1] > 0.999999
    assert substitution_probabilities(vectors, PARIS, all_of(3), 1.0, 1e-20)[0].tolist() == [0, 1, 0]


@gaussians
@normalisers
def test_temperature_flattens_and_sharpens(gaussian: Any, normalise: Any) -> None:
    cold, usual, hot = (
        substitution_probabilities(CITIES, PARIS, all_of(4, 3), *BUMP, gaussian, normalise, heat)[0, 1]
        for heat in (0.05, 1, 1e4)
    )
    assert cold > 0.999 > usual > 0.55
    assert hot == pytest.approx(0.5, abs=1e-3)


@gaussians
def test_scores_that_all_vanish_give_every_candidate_the_same_chance(gaussian: Any) -> None:
    vectors = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    distribution = substitution_probabilities(vectors, PARIS, all_of(4, 3), 1e6, 0.5, gaussian, "sum")
    close(distribution, [[0.0, 0.5, 0.5, 0.0]])


@gaussians
def test_scores_that_nearly_vanish_still_count(gaussian: Any) -> None:
    vectors = torch.tensor([[0.0], [1.0], [2.0]], dtype=torch.float64)
    distribution = substitution_probabilities(vectors, PARIS, all_of(3), 20.0, 0.6, gaussian, "sum")
    assert distribution[0, 2] > 0.999
    distribution = substitution_probabilities(vectors, PARIS, all_of(3), 20.0, 0.6, gaussian, "sum", temperature=0.01)
    assert distribution[0].tolist() == [0, 0, 1]


@pytest.mark.parametrize("normalise", ["softmax", "sum"])
def test_a_word_without_another_candidate_has_an_empty_row(normalise: Any) -> None:
    distribution = substitution_probabilities(
        CITIES, torch.tensor([0, 1]), all_of(4, 1, 2, 3), *BUMP, normalise=normalise
    )
    assert distribution.tolist() == [[0, 0, 0, 0], [1, 0, 0, 0]]
    assert uniform_probabilities(torch.tensor([0, 1]), all_of(4, 1, 2, 3)).tolist() == distribution.tolist()


@pytest.mark.parametrize("kind", ["similar", "random"])
def test_no_word_chosen_gives_no_substitute(kind: Any) -> None:
    substitutes = Substitutes(kind)
    none = torch.zeros(0, dtype=torch.long)
    assert substitutes.distribution(CITIES, none, all_of(4)).shape == (0, 4)
    assert substitutes.draw(CITIES, none, all_of(4)).shape == (0,)


def test_nothing_is_learnt_through_the_law_and_vectors_stay() -> None:
    vectors = table().requires_grad_()
    before = vectors.detach().clone()
    assert not Substitutes().distribution(vectors, PARIS, all_of(40)).requires_grad
    assert torch.equal(vectors, before)


def test_the_random_law_is_uniform_over_the_other_candidates() -> None:
    distribution = uniform_probabilities(torch.tensor([0, 3]), all_of(6, 0, 1))
    close(distribution, [[0, 0, 1 / 4, 1 / 4, 1 / 4, 1 / 4], [0, 0, 1 / 3, 0, 1 / 3, 1 / 3]])


@pytest.mark.parametrize("settings", [{"kind": "random"}, {}, {"normalise": "sum"}, {"gaussian": "unit"}])
def test_draws_follow_the_law_within_four_standard_errors(settings: dict[str, Any]) -> None:
    vectors, candidates, draws = table(9, 2), all_of(9, 0, 4), 20_000
    substitutes = Substitutes(**settings)
    for word in (2, 4):
        distribution = substitutes.distribution(vectors, torch.tensor([word]), candidates)[0]
        drawn = substitutes.draw(vectors, torch.full((draws,), word), candidates)
        shares = torch.bincount(drawn, minlength=9) / draws
        assert ((shares - distribution).abs() <= 4 * (distribution * (1 - distribution) / draws).sqrt()).all()
        assert (shares[[0, 4, word]] == 0).all()  # neither specials nor the word itself, not even once


@pytest.mark.parametrize("kind", ["similar", "random"])
def test_every_word_gets_a_substitute_of_its_own(kind: Any) -> None:
    """Two candidates: each stands in for the other."""
    candidates = torch.tensor([True, True, False])
    drawn = Substitutes(kind).draw(CITIES[:3], torch.tensor([1, 0, 0, 1]), candidates)
    assert drawn.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("kind", ["similar", "random"])
@pytest.mark.parametrize("candidates", [all_of(4, 1, 2, 3), all_of(4, 0, 1, 2, 3)])
def test_a_word_without_another_candidate_stays(kind: Any, candidates: Tensor) -> None:
    assert Substitutes(kind).draw(CITIES, torch.tensor([0, 0]), candidates).tolist() == [0, 0]


def test_vectors_that_are_all_alike_give_every_word_the_same_chance() -> None:
    for normalise in ("softmax", "sum"):
        distribution = Substitutes(normalise=normalise).distribution(torch.ones(5, 3), PARIS, all_of(5, 4))
        close(distribution, [[0, 1 / 3, 1 / 3, 1 / 3, 0]])


def test_the_same_seed_draws_the_same_words_and_another_others() -> None:
    substitutes, chosen = Substitutes(), torch.arange(40)
    drawn = []
    for seed in (7, 7, 8):
        torch.manual_seed(seed)
        drawn.append(substitutes.draw(table(), chosen, all_of(40)).tolist())
    assert drawn[0] == drawn[1] != drawn[2]


def test_to_find_typical_distances_does_not_touch_the_random_numbers() -> None:
    """The first draw, which looks for them, is that of one that was told."""
    known = Substitutes(mean=3.0, deviation=1.0)
    found = Substitutes(sample=10)
    drawn = []
    for substitutes in (known, found):
        torch.manual_seed(0)
        substitutes.draw(table(), PARIS, all_of(40))
        drawn.append(torch.rand(3).tolist())
    assert drawn[0] == drawn[1]
    before = torch.random.get_rng_state()
    typical_distances(table(), all_of(40), sample=10)
    assert torch.equal(before, torch.random.get_rng_state())


def test_typical_distances_are_those_of_all_pairs() -> None:
    vectors, candidates = table(12, 4), all_of(12, 0, 7)
    pairs = [float((vectors[a] - vectors[b]).norm()) for a, b in combinations(range(12), 2) if not {a, b} & {0, 7}]
    assert typical_distances(vectors, candidates) == pytest.approx((median(pairs), pstdev(pairs)), rel=1e-5)


def test_an_even_number_of_distances_has_its_median_between_two() -> None:
    vectors = torch.tensor([[0.0], [1.0], [3.0], [7.0]])  # apart by 1, 2, 3, 4, 6, 7
    assert typical_distances(vectors, all_of(4))[0] == pytest.approx(3.5)


def test_a_sample_is_near_the_whole_and_its_seed_decides_it() -> None:
    vectors, candidates = table(2000, 20), all_of(2000, 0)
    whole = typical_distances(vectors, candidates, sample=2000)
    part = typical_distances(vectors, candidates, sample=300)
    assert part == pytest.approx(whole, rel=0.05)
    assert part == typical_distances(vectors, candidates, sample=300) != whole
    assert part != typical_distances(vectors, candidates, sample=300, seed=1)


def test_a_sample_holds_candidates_only() -> None:
    vectors = torch.cat([table(30, 3), 1e6 * table(30, 3)])
    assert typical_distances(vectors, torch.arange(60) < 30, sample=10)[0] < 100


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [
        ([], (1, 1)),
        ([[5.0, 5.0]], (1, 1)),
        ([[0.0, 0.0], [3.0, 4.0]], (5, 5)),
        ([[2.0, 2.0]] * 2, (1, 1)),
        ([[2.0, 2.0]] * 9, (1, 1)),
        ([[0.3, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.3]], (0.3 * sqrt(2),) * 2),
        ([[0.0, 0.0]] * 4 + [[3.0, 4.0]], (2, sqrt(6))),  # four distances of 5, six of 0
    ],
)
def test_odd_vocabularies_have_usable_distances(vectors: list[list[float]], expected: tuple[float, float]) -> None:
    padded = torch.tensor([[9.0] * len(vectors[0]) if vectors else [9.0, 9.0], *vectors])
    assert typical_distances(padded, all_of(len(padded), 0)) == pytest.approx(expected)


def bump_of(substitutes: Substitutes, pieces: int = 1) -> tuple[float, float]:
    return float(substitutes.mean[pieces - 1]), float(substitutes.deviation[pieces - 1])


def test_each_number_of_pieces_has_a_mean_and_a_deviation_of_its_own() -> None:
    substitutes, near = Substitutes(), 0.1 * table(seed=3)
    for vectors, pieces in ((table(), 1), (near, 3), (7 * table(), 1), (7 * near, 3)):
        substitutes.draw(vectors, PARIS, all_of(40), pieces)
    assert bump_of(substitutes) == pytest.approx(typical_distances(table(), all_of(40)))
    assert bump_of(substitutes, 3) == pytest.approx(typical_distances(near, all_of(40)))


def test_what_is_usual_is_found_from_all_words_alike_and_not_from_the_candidates() -> None:
    few, many = Substitutes(), Substitutes()
    few.draw(table(), PARIS, all_of(40, 5, 6, 7), alike=all_of(40))
    many.draw(table(), PARIS, all_of(40))
    assert bump_of(few) == bump_of(many)


def test_a_given_mean_holds_for_words_of_any_number_of_pieces() -> None:
    substitutes = Substitutes(mean=2.0, deviation=0.5)
    substitutes.draw(table(), PARIS, all_of(40), 4)
    assert bump_of(substitutes, 4) == (2.0, 0.5)


def test_the_mean_and_the_deviation_are_found_once_and_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    substitutes, asked = Substitutes(), []
    place = "acclimate.methods.perturbation.word_changes.typical_distances"
    monkeypatch.setattr(place, lambda *given: asked.append(1) or typical_distances(*given))
    substitutes.draw(table(), PARIS, all_of(40))
    found = bump_of(substitutes)
    assert found == pytest.approx(typical_distances(table(), all_of(40)))
    substitutes.draw(5 * table(), PARIS, all_of(40))
    assert bump_of(substitutes) == found
    assert len(asked) == 1


def test_vectors_of_half_precision_will_do() -> None:
    substitutes = Substitutes()
    assert substitutes.draw(table().bfloat16(), torch.arange(40), all_of(40, 0)).min() > 0
    assert bump_of(substitutes)[0] == pytest.approx(typical_distances(table(), all_of(40, 0))[0], rel=0.01)


def test_what_is_given_is_kept_and_only_the_rest_is_found() -> None:
    usual, spread = typical_distances(table(), all_of(40))
    for given_, expected in [
        ({"mean": 0.0}, (0.0, spread)),
        ({"deviation": 2.0}, (usual, 2.0)),
        ({"mean": 1.0, "deviation": 0.5}, (1.0, 0.5)),
    ]:
        substitutes = Substitutes(**given_)
        substitutes.draw(table(), PARIS, all_of(40))
        assert bump_of(substitutes) == pytest.approx(expected)


def test_a_checkpoint_keeps_what_was_found() -> None:
    used, fresh = Substitutes(), Substitutes()
    used.draw(table(), PARIS, all_of(40))
    fresh.load_state_dict(used.state_dict())
    other = 5 * table(seed=3)
    assert torch.equal(fresh.distribution(other, PARIS, all_of(40)), used.distribution(other, PARIS, all_of(40)))
    assert not torch.equal(
        fresh.distribution(other, PARIS, all_of(40)), Substitutes().distribution(other, PARIS, all_of(40))
    )


def test_a_checkpoint_before_the_first_draw_is_equal_to_itself_and_still_to_be_filled() -> None:
    unused, fresh = Substitutes(), Substitutes()
    state = unused.state_dict()
    assert set(state) == {"mean", "deviation"}
    assert all(torch.equal(value, value.clone()) for value in state.values())
    fresh.load_state_dict(state)
    fresh.draw(table(), PARIS, all_of(40))
    assert bump_of(fresh)[0] == pytest.approx(typical_distances(table(), all_of(40))[0])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", ["similar", "random"])
def test_a_gpu_has_the_same_law_and_the_cpu_s_seed_decides_its_draws(kind: Any) -> None:
    question = (table(), torch.arange(40), all_of(40, 0))
    there = [value.cuda() for value in question]
    substitutes = Substitutes(kind)
    close(substitutes.distribution(*there).cpu(), substitutes.distribution(*question), 1e-6)
    drawn = []
    for noise in (1, 2):
        torch.cuda.manual_seed(noise)
        torch.default_generator.manual_seed(1)
        drawn.append(substitutes.draw(*there))
    assert drawn[0].is_cuda
    assert torch.equal(*drawn)
