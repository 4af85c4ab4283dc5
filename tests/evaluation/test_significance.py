"""Bootstrap and permutation against enumeration, SciPy and the plain definition, with one seed or several."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tag_sequences import corpus_of, gold_and_predicted

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.counts import outside_tag, pair_up
from acclimate.evaluation.scores import score
from acclimate.evaluation.significance import (
    Metric,
    Numbers,
    SeedsComparison,
    compare_seeds,
    count_sentences,
    drawn_differences,
    holm,
    interval,
    swapped_differences,
)

P_VALUES = pytest.mark.parametrize("p_value", ["bootstrap_p", "permutation_p"])

# four sentences on which the two systems differ in every way: small enough to enumerate all draws and all swaps
GOLD = corpus_of("B-PER O B-LOC", "B-PER I-PER O", "O B-ORG O", "B-LOC O O")
FIRST = corpus_of("B-PER O O", "B-PER O O", "O B-ORG O", "O O B-PER")
SECOND = corpus_of("B-PER O B-LOC", "B-PER I-PER O", "O O O", "B-LOC O O")

METRICS = {
    "span f1": lambda scores: scores.span.f1,
    "span precision": lambda scores: scores.span.precision,
    "span recall": lambda scores: scores.span.recall,
    "macro f1": lambda scores: scores.macro.f1,
    "typeless f1": lambda scores: scores.typeless.f1,
    "token f1": lambda scores: scores.token.f1,
    "token accuracy": lambda scores: scores.token.accuracy,
}


def gain(gold: Corpus, first: Corpus, second: Corpus, metric: str = "span f1") -> float:
    return METRICS[metric](score(gold, second)) - METRICS[metric](score(gold, first))


def sentences(corpus: Corpus, places: tuple[int, ...]) -> Corpus:
    return Corpus.of(corpus[place] for place in places)


def systems(size: int, quality: tuple[float, float], seed: int) -> tuple[Corpus, Corpus, Corpus]:
    """Gold sentences of one to six one-word spans, and two systems that find each span with their own chance."""
    dice = random.Random(seed)
    gold = [["B-PER"] * dice.randint(1, 6) for _ in range(size)]
    first, second = ([[tag if dice.random() < chance else "O" for tag in row] for row in gold] for chance in quality)
    return corpus_of(*gold), corpus_of(*first), corpus_of(*second)


def compare(gold: Corpus, first: Corpus, second: Corpus, **options: Any) -> SeedsComparison:
    return compare_seeds(gold, [first], [second], **options)


def counts(gold: Corpus, first: Corpus, second: Corpus, metric: Metric) -> tuple[Numbers, Numbers]:
    """Those of one seed each: (sentence, seed, label, 3)."""
    pairs = [pair_up(gold, system, "lenient") for system in (first, second)]
    one, other = count_sentences(pairs, metric, outside_tag(gold.kind))
    return one[:, None], other[:, None]


@pytest.mark.parametrize("metric", METRICS)
def test_bootstrap_follows_the_distribution_of_all_possible_draws(metric):
    draws = itertools.product(range(4), repeat=4)
    every = [gain(*(sentences(corpus, draw) for corpus in (GOLD, FIRST, SECOND)), metric) for draw in draws]
    sampled = drawn_differences(*counts(GOLD, FIRST, SECOND, metric), metric, 8000, seed=1)
    assert set(np.round(sampled, 9)) <= set(np.round(every, 9))
    assert sampled.mean() == pytest.approx(np.mean(every), abs=0.02)
    assert np.percentile(sampled, [10, 50, 90]) == pytest.approx(np.percentile(every, [10, 50, 90]), abs=0.05)


@pytest.mark.parametrize("metric", METRICS)
def test_permutation_follows_the_distribution_of_all_possible_swaps(metric):
    every = []
    for swaps in itertools.product([False, True], repeat=4):
        swapped = [(b, a) if swap else (a, b) for swap, a, b in zip(swaps, FIRST, SECOND, strict=True)]
        every.append(gain(GOLD, *(Corpus.of(system) for system in zip(*swapped, strict=True)), metric))
    sampled = swapped_differences(*counts(GOLD, FIRST, SECOND, metric), metric, 8000, seed=1)
    assert set(np.round(sampled, 9)) == set(np.round(every, 9))
    assert (sampled > 0.1).mean() == pytest.approx((np.array(every) > 0.1).mean(), abs=0.03)


def test_p_values_equal_those_of_enumeration():
    observed = gain(GOLD, FIRST, SECOND)
    draws = itertools.product(range(4), repeat=4)
    moved = [gain(*(sentences(corpus, draw) for corpus in (GOLD, FIRST, SECOND))) - observed for draw in draws]
    exact = np.mean(np.abs(moved) >= observed - 1e-9)
    assert compare(GOLD, FIRST, SECOND, rounds=8000).bootstrap_p == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize("metric", METRICS)
def test_the_difference_is_what_score_gives(metric):
    result = compare(GOLD, FIRST, SECOND, rounds=10, metric=metric)
    assert result.difference == pytest.approx(gain(GOLD, FIRST, SECOND, metric))
    assert result.second == pytest.approx(METRICS[metric](score(GOLD, SECOND)))


def test_the_same_seed_gives_the_same_result_and_another_seed_another():
    data = systems(60, (0.6, 0.7), seed=3)
    assert compare(*data, seed=5) == compare(*data, seed=5)
    assert compare(*data, seed=5) != compare(*data, seed=6)


@P_VALUES
def test_swapping_the_systems_turns_the_result_round(p_value):
    gold, first, second = systems(60, (0.6, 0.7), seed=3)
    there, back = compare(gold, first, second), compare(gold, second, first)
    assert (there.difference, getattr(there, p_value)) == (-back.difference, getattr(back, p_value))
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


@P_VALUES
def test_a_clear_gap_has_a_small_p_value_and_an_interval_above_zero(p_value):
    result = compare(*systems(200, (0.5, 0.9), seed=0))
    assert getattr(result, p_value) < 0.01
    assert 0 < result.low < result.difference < result.high


@P_VALUES
def test_no_finite_number_of_rounds_gives_a_p_value_of_zero(p_value):
    assert getattr(compare(*systems(200, (0.1, 1.0), seed=0), rounds=99), p_value) == 1 / 100


@P_VALUES
def test_a_system_does_not_differ_from_itself(p_value):
    result = compare(GOLD, FIRST, FIRST)
    assert (result.difference, result.low, result.high, getattr(result, p_value)) == (0, 0, 0, 1)


@P_VALUES
def test_p_values_of_equally_good_systems_are_spread_evenly(p_value):
    values = [getattr(compare(*systems(100, (0.7, 0.7), seed), rounds=199, seed=seed), p_value) for seed in range(200)]
    assert np.mean(np.array(values) <= 0.05) < 0.11
    shares = np.histogram(values, bins=4, range=(0, 1))[0] / len(values)
    assert (abs(shares - 0.25) < 0.13).all()


@P_VALUES
def test_empty_corpora_and_corpora_without_spans_do_not_differ(p_value):
    for corpus in (corpus_of(), corpus_of("O O", "O")):
        assert getattr(compare(corpus, corpus, corpus, rounds=10), p_value) == 1


def test_the_interval_of_one_system_holds_its_score():
    gold, first, _ = systems(100, (0.7, 0.7), seed=0)
    found = interval(gold, first)
    assert found.low < found.value == score(gold, first).span.f1 < found.high


def test_the_interval_shrinks_with_the_test_set():
    small, large = (interval(*systems(size, (0.7, 0.7), seed=0)[:2]) for size in (50, 800))
    assert large.high - large.low < (small.high - small.low) / 2


def test_the_interval_of_a_perfect_system_is_a_point():
    assert (interval(GOLD, GOLD).low, interval(GOLD, GOLD).high) == (1, 1)


@settings(max_examples=40, deadline=None)
@given(gold_and_predicted(legal=False), st.sampled_from(sorted(METRICS)))
def test_the_figure_of_an_interval_equals_the_score(tags, metric):
    gold, predicted = (corpus_of(*rows) for rows in tags)
    assert interval(gold, predicted, rounds=1, metric=metric).value == pytest.approx(
        METRICS[metric](score(gold, predicted))
    )


def test_the_reading_is_passed_on():
    gold, predicted = corpus_of("B-PER O"), corpus_of("I-PER O")
    assert interval(gold, predicted).value == 1
    assert interval(gold, predicted, reading="strict").value == 0


def test_plain_tags_can_be_compared():
    gold, wrong = corpus_of(*["DET NOUN"] * 30, kind="plain"), corpus_of(*["DET DET"] * 30, kind="plain")
    assert compare(gold, wrong, gold).difference == pytest.approx(0.5)


def test_an_unknown_metric_is_refused():
    with pytest.raises(InputError, match="expected one of span f1"):
        interval(GOLD, FIRST, metric="bleu")


def test_no_rounds_are_refused():
    with pytest.raises(InputError, match="at least one round"):
        compare(GOLD, FIRST, SECOND, rounds=0)


def test_a_thousand_rounds_on_a_whole_test_set_take_less_than_a_second():
    data = systems(3453, (0.8, 0.82), seed=0)
    begin = time.process_time()
    compare(*data, rounds=1000)
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("count", [1, 2, 4])
def test_sentences_that_all_change_alike_are_no_proof_if_they_are_few(count: int) -> None:
    gold, before = corpus_of(*["B-PER O"] * count), corpus_of(*["O O"] * count)
    found = compare(gold, before, gold)
    assert found.bootstrap_p < 0.05 < found.permutation_p == found.larger_p


def test_many_sentences_that_change_alike_are() -> None:
    gold, before = corpus_of(*["B-PER O"] * 12), corpus_of(*["O O"] * 12)
    assert compare(gold, before, gold).larger_p < 0.01


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


def test_answers_given_twice_make_nobody_surer() -> None:
    gold, first, second = a_test(20, seeds=1)
    once, twice = (compare_seeds(gold, first * n, second * n, rounds=500) for n in (1, 2))
    assert (once.low, once.high, once.permutation_p) == pytest.approx((twice.low, twice.high, twice.permutation_p))


def test_a_system_of_several_seeds_does_not_differ_from_itself() -> None:
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
