"""Several seeds against several seeds: enumeration, SciPy, the plain definition, and Holm's rule."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tag_sequences import corpus_of

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.repeated import compare_seeds, holm
from acclimate.evaluation.scores import score
from acclimate.evaluation.significance import paired_bootstrap, permutation_test

SIZE = 7


def noisy(gold: Corpus, chance: float, seed: int) -> Corpus:
    """Finds each one-word span with that chance, and now and then one that is none."""
    dice = random.Random(seed)

    def answer(tag: str) -> str:
        return tag if dice.random() < chance else "O" if tag != "O" else dice.choice(["O", "B-LOC"])

    return corpus_of(*[[answer(tag) for tag in sentence.tags or ()] for sentence in gold])


def a_test(size: int = SIZE, seeds: int = 2) -> tuple[Corpus, list[Corpus], list[Corpus]]:
    dice = random.Random(1)
    gold = corpus_of(*[[dice.choice(["B-PER", "B-LOC", "O"]) for _ in range(dice.randint(1, 5))] for _ in range(size)])
    first = [noisy(gold, 0.4, seed) for seed in range(seeds)]
    return gold, first, [noisy(gold, 0.8, 10 + seed) for seed in range(seeds)]


def f1(gold: Corpus, predicted: Corpus) -> float:
    return score(gold, predicted).span.f1


def mean_f1(gold: Corpus, runs: Sequence[Corpus]) -> float:
    return sum(f1(gold, run) for run in runs) / len(runs)


def rows(corpus: Corpus, places: Sequence[int]) -> Corpus:
    return Corpus.of(corpus[place] for place in places)


def mixed(one: Corpus, other: Corpus, swaps: Sequence[bool]) -> Corpus:
    """The sentences of one, those that are swapped from the other."""
    return Corpus.of(there if swap else here for here, there, swap in zip(one, other, swaps, strict=True))


def test_the_difference_is_that_of_the_means() -> None:
    gold, first, second = a_test()
    found = compare_seeds(gold, first, second, rounds=10)
    assert found.difference == pytest.approx(mean_f1(gold, second) - mean_f1(gold, first))
    assert (found.first, found.seeds, found.sentences) == (pytest.approx(mean_f1(gold, first)), 2, SIZE)


def test_the_permutation_p_value_is_that_of_all_swaps_and_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    gold, first, second = a_test()
    observed = mean_f1(gold, second) - mean_f1(gold, first)
    gains = {}
    for swaps in itertools.product([False, True], repeat=SIZE):
        one = [mixed(a, b, swaps) for a, b in zip(first, second, strict=True)]
        other = [mixed(b, a, swaps) for a, b in zip(first, second, strict=True)]
        gains[swaps] = mean_f1(gold, other) - mean_f1(gold, one)
    exact = float(np.mean([abs(gain) >= abs(observed) - 1e-12 for gain in gains.values()]))

    def gain(places: np.ndarray, others: np.ndarray) -> float:
        """What SciPy permutes are marks of whose answer stands where."""
        return gains[tuple(bool(mark) for mark in places)]

    of_scipy = stats.permutation_test(
        (np.zeros(SIZE), np.ones(SIZE)), gain, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert of_scipy.pvalue == pytest.approx(exact)
    assert compare_seeds(gold, first, second, rounds=20_000).permutation_p == pytest.approx(exact, abs=0.01)


def test_the_bootstrap_p_value_and_interval_are_those_of_all_draws() -> None:
    size = 5
    gold, first, second = a_test(size)
    observed = mean_f1(gold, second) - mean_f1(gold, first)
    gains = []
    for draw in itertools.product(range(size), repeat=size):
        drawn = [[rows(run, draw) for run in runs] for runs in (first, second)]
        gains.append(mean_f1(rows(gold, draw), drawn[1]) - mean_f1(rows(gold, draw), drawn[0]))
    exact = float(np.mean(np.abs(np.array(gains) - observed) >= abs(observed) - 1e-12))
    found = compare_seeds(gold, first, second, rounds=20_000)
    assert found.bootstrap_p == pytest.approx(exact, abs=0.01)
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(gains, [2.5, 97.5])), abs=0.02)


def test_one_seed_is_the_plain_comparison_of_two_systems() -> None:
    gold, first, second = a_test(20, seeds=1)
    found = compare_seeds(gold, first, second, rounds=300, seed=3)
    drawn = paired_bootstrap(gold, first[0], second[0], rounds=300, seed=3)
    swapped = permutation_test(gold, first[0], second[0], rounds=300, seed=3)
    assert (found.difference, found.low, found.high) == (drawn.difference, drawn.low, drawn.high)
    assert (found.bootstrap_p, found.permutation_p) == (drawn.p_value, swapped.p_value)


def test_answers_given_twice_make_nobody_surer() -> None:
    gold, first, second = a_test(20, seeds=1)
    once, twice = (compare_seeds(gold, first * n, second * n, rounds=500) for n in (1, 2))
    assert (once.low, once.high, once.permutation_p) == pytest.approx((twice.low, twice.high, twice.permutation_p))


def test_a_system_does_not_differ_from_itself() -> None:
    gold, first, _ = a_test()
    found = compare_seeds(gold, first, first, rounds=50)
    assert (found.difference, found.bootstrap_p, found.permutation_p) == (0, 1, 1)


def test_unequal_numbers_of_seeds_are_refused() -> None:
    gold, first, second = a_test()
    with pytest.raises(InputError, match="not 2 and 1"):
        compare_seeds(gold, first, second[:1])


@pytest.mark.parametrize(
    ("given_values", "wanted"),
    [
        ([], []),
        ([0.03], [0.03]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),  # 3 x 0.01; 2 x 0.03; 1 x 0.04 is below the one before it
        ([0.5, 0.6], [1.0, 1.0]),
    ],
)
def test_holm_by_hand(given_values: list[float], wanted: list[float]) -> None:
    assert holm(given_values) == pytest.approx(wanted)


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.001, 0.999))
def test_holm_refuses_what_its_steps_refuse(p_values: list[float], level: float) -> None:
    """The procedure itself: from the smallest on, refuse while p <= level / hypotheses left, and then stop."""
    refused = set()
    for rank, number in enumerate(sorted(range(len(p_values)), key=lambda number: p_values[number])):
        if (len(p_values) - rank) * p_values[number] > level:
            break
        refused.add(number)
    assert {number for number, p_value in enumerate(holm(p_values)) if p_value <= level} == refused
