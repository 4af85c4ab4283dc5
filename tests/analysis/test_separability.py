"""Telling two domains apart: far ones always, like ones by luck only, and no sentence on both sides."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from acclimate.analysis.features import FeaturePoints, Separability, domain_separability, fit, halves
from acclimate.data.problems import InputError


def cloud(seed: int, size: int, width: int = 5, shift: float = 0.0) -> NDArray[np.float32]:
    return (np.random.default_rng(seed).normal(size=(size, width)) + shift).astype(np.float32)


def points(*clouds: NDArray[np.float32], sentences: list[int] | None = None) -> FeaturePoints:
    """Clouds as corpora a, b, …; every point is a sentence unless it is said otherwise."""
    domains = tuple("abc"[number] for number, cloud in enumerate(clouds) for _ in cloud)
    numbers = tuple(range(len(domains)) if sentences is None else sentences)
    return FeaturePoints(np.concatenate(clouds), domains, ("word",) * len(domains), numbers)


def test_domains_far_apart_are_always_told_apart() -> None:
    found = domain_separability(points(cloud(1, 60), cloud(2, 60, shift=4.0)))
    assert found.accuracy > 0.98
    assert found.a_distance == pytest.approx(2 * (2 * found.accuracy - 1))
    assert (found.points, found.sentences) == (120, 120)


def test_one_feature_among_many_is_enough() -> None:
    one, other = cloud(1, 200, 30), cloud(2, 200, 30)
    other[:, 17] += 6
    assert domain_separability(points(one, other)).accuracy > 0.98


def test_domains_alike_are_told_apart_by_luck_only() -> None:
    found = domain_separability(points(cloud(1, 1000), cloud(2, 1000)))
    assert found.accuracy == pytest.approx(0.5, abs=0.04)
    assert found.a_distance < 0.16


def test_the_same_points_in_both_domains_are_told_apart_not_at_all() -> None:
    same = cloud(1, 40)
    found = domain_separability(points(same, same, sentences=[*range(40), *range(40)]))
    assert found.accuracy == 0.5


def test_remembered_sentences_do_not_count_as_knowledge() -> None:
    """Each sentence has a place of its own, far from all others: known again at once, if it stood in both halves."""
    places, words = cloud(1, 40, 30), np.repeat(np.arange(40), 8)
    scattered = (places[words] + 0.01 * cloud(2, 320, 30)).astype(np.float32)
    domains = tuple("a" if sentence < 20 else "b" for sentence in words)
    apart = FeaturePoints(scattered, domains, ("word",) * 320, tuple(words.tolist()))
    by_word = FeaturePoints(scattered, domains, ("word",) * 320, tuple(range(320)))
    assert domain_separability(by_word).accuracy > 0.95  # what splitting by word would claim
    assert domain_separability(apart).accuracy < 0.75


def test_the_answer_is_the_same_every_time_and_the_seed_decides_on_thehalves() -> None:
    given = points(cloud(1, 50), cloud(2, 50, shift=0.5))
    assert domain_separability(given, seed=1) == domain_separability(given, seed=1)
    assert domain_separability(given, seed=1) != domain_separability(given, seed=2)


def test_features_that_never_change_say_nothing() -> None:
    still = np.ones((10, 3), np.float32)
    assert domain_separability(points(still, still)).accuracy == 0.5


def test_scale_and_place_of_features_do_not_matter() -> None:
    one, other = cloud(1, 50), cloud(2, 50, shift=0.5)
    plain = domain_separability(points(one, other))
    moved = domain_separability(points(one * 1024 + 512, other * 1024 + 512))
    assert moved.accuracy == pytest.approx(plain.accuracy, abs=0.011)


def test_worse_than_chance_is_no_distance() -> None:
    assert Separability(0.4, (0.4, 0.4), 10, 10).a_distance == 0.0
    assert Separability(1.0, (1.0, 1.0), 10, 10).a_distance == 2.0


@pytest.mark.parametrize("seed", range(5))
def test_bothhalves_have_both_domains_and_no_sentence_is_in_both(seed: int) -> None:
    is_second = np.array([False, False, False, True, True, True])
    sentences = [0, 0, 1, 1, 2, 2]  # the second sentence is in both corpora, and each has another one
    first = halves(is_second, sentences, seed)
    assert len({(sentence, bool(half)) for sentence, half in zip(sentences, first, strict=True)}) == 3
    for domain in (is_second, ~is_second):
        assert set(first[domain].tolist()) == {True, False}


def test_one_sentence_cannot_be_split() -> None:
    with pytest.raises(InputError, match="b has too few different sentences"):
        domain_separability(points(cloud(1, 4), cloud(2, 2), sentences=[0, 1, 2, 3, 9, 9]))


@pytest.mark.parametrize("count", [1, 3])
def test_only_two_corpora_are_told_apart(count: int) -> None:
    with pytest.raises(InputError, match=f"two corpora are told apart, not {count}"):
        domain_separability(points(*[cloud(1, 4)] * count))


def test_of_three_corpora_two_can_be_chosen() -> None:
    given = points(cloud(1, 30), cloud(2, 30, shift=9.0), cloud(3, 30))
    assert domain_separability(given.of("a", "b")).accuracy == 1.0
    assert domain_separability(given.of("a", "c")).accuracy < 0.7


def test_the_fit_is_where_the_slope_is_zero_however_unequal_the_domains() -> None:
    inputs, is_second = cloud(1, 90).astype(np.float64), np.arange(90) < 15
    weights = fit(inputs, is_second, strength=0.1)

    def loss(weights: NDArray[np.float64]) -> float:
        margins = np.where(is_second, 1, -1) * (inputs @ weights[:-1] + weights[-1])
        losses = np.log1p(np.exp(-margins))
        return float((losses[is_second].mean() + losses[~is_second].mean()) / 2 + 0.05 * (weights[:-1] ** 2).sum())

    for way in np.eye(6):
        assert loss(weights + 1e-4 * way) - loss(weights - 1e-4 * way) == pytest.approx(0, abs=1e-7)


def test_the_number_is_told_in_words() -> None:
    told = Separability(0.75, (0.7, 0.8), 2000, 90).render(("news", "tweets"), "word")
    assert "news against tweets: 2,000 words; 90 different sentences" in told
    assert "0.750 (halves 0.700 and 0.800" in told
    assert "proxy A-distance: 1.000" in told
