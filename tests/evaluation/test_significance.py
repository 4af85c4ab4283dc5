"""Bootstrap and permutation against enumeration, and what their figures must mean."""

import itertools
import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tag_sequences import corpus_of, gold_and_predicted

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.scores import score
from acclimate.evaluation.significance import (
    bootstrap_differences,
    count_both,
    interval,
    paired_bootstrap,
    permutation_differences,
    permutation_test,
)

TESTS = pytest.mark.parametrize("test", [paired_bootstrap, permutation_test])

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


@pytest.mark.parametrize("metric", METRICS)
def test_bootstrap_follows_the_law_of_all_possible_draws(metric):
    draws = itertools.product(range(4), repeat=4)
    every = [gain(*(sentences(corpus, draw) for corpus in (GOLD, FIRST, SECOND)), metric) for draw in draws]
    sampled = bootstrap_differences(*count_both(GOLD, FIRST, SECOND, metric, "lenient"), metric, 8000, seed=1)
    assert set(np.round(sampled, 9)) <= set(np.round(every, 9))
    assert sampled.mean() == pytest.approx(np.mean(every), abs=0.02)
    assert np.percentile(sampled, [10, 50, 90]) == pytest.approx(np.percentile(every, [10, 50, 90]), abs=0.05)


@pytest.mark.parametrize("metric", METRICS)
def test_permutation_follows_the_law_of_all_possible_swaps(metric):
    every = []
    for swaps in itertools.product([False, True], repeat=4):
        swapped = [(b, a) if swap else (a, b) for swap, a, b in zip(swaps, FIRST, SECOND, strict=True)]
        every.append(gain(GOLD, *(Corpus.of(system) for system in zip(*swapped, strict=True)), metric))
    sampled = permutation_differences(*count_both(GOLD, FIRST, SECOND, metric, "lenient"), metric, 8000, seed=1)
    assert set(np.round(sampled, 9)) == set(np.round(every, 9))
    assert (sampled > 0.1).mean() == pytest.approx((np.array(every) > 0.1).mean(), abs=0.03)


def test_p_values_equal_those_of_enumeration():
    observed = gain(GOLD, FIRST, SECOND)
    draws = itertools.product(range(4), repeat=4)
    moved = [gain(*(sentences(corpus, draw) for corpus in (GOLD, FIRST, SECOND))) - observed for draw in draws]
    exact = np.mean(np.abs(moved) >= observed - 1e-9)
    assert paired_bootstrap(GOLD, FIRST, SECOND, rounds=8000).p_value == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize("metric", METRICS)
@TESTS
def test_the_difference_is_what_score_gives(test, metric):
    result = test(GOLD, FIRST, SECOND, rounds=10, metric=metric)
    assert result.difference == pytest.approx(gain(GOLD, FIRST, SECOND, metric))
    assert result.second == pytest.approx(METRICS[metric](score(GOLD, SECOND)))


@TESTS
def test_the_same_seed_gives_the_same_result_and_another_seed_another(test):
    data = systems(60, (0.6, 0.7), seed=3)
    assert test(*data, seed=5) == test(*data, seed=5)
    assert test(*data, seed=5) != test(*data, seed=6)


@TESTS
def test_swapping_the_systems_turns_the_result_round(test):
    gold, first, second = systems(60, (0.6, 0.7), seed=3)
    there, back = test(gold, first, second), test(gold, second, first)
    assert (there.difference, there.p_value) == (-back.difference, back.p_value)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


@TESTS
def test_a_clear_gap_has_a_small_p_value_and_an_interval_above_zero(test):
    result = test(*systems(200, (0.5, 0.9), seed=0))
    assert result.p_value < 0.01
    assert 0 < result.low < result.difference < result.high


@TESTS
def test_no_finite_number_of_rounds_gives_a_p_value_of_zero(test):
    assert test(*systems(200, (0.1, 1.0), seed=0), rounds=99).p_value == 1 / 100


@TESTS
def test_a_system_does_not_differ_from_itself(test):
    result = test(GOLD, FIRST, FIRST)
    assert (result.difference, result.low, result.high, result.p_value) == (0, 0, 0, 1)


@TESTS
def test_p_values_of_equally_good_systems_are_spread_evenly(test):
    values = [test(*systems(100, (0.7, 0.7), seed), rounds=199, seed=seed).p_value for seed in range(200)]
    assert np.mean(np.array(values) <= 0.05) < 0.11
    shares = np.histogram(values, bins=4, range=(0, 1))[0] / len(values)
    assert (abs(shares - 0.25) < 0.13).all()


@TESTS
def test_empty_corpora_and_corpora_without_spans_do_not_differ(test):
    for corpus in (corpus_of(), corpus_of("O O", "O")):
        assert test(corpus, corpus, corpus, rounds=10).p_value == 1


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
    assert paired_bootstrap(gold, wrong, gold).difference == pytest.approx(0.5)


def test_an_unknown_metric_is_refused():
    with pytest.raises(InputError, match="expected one of span f1"):
        interval(GOLD, FIRST, metric="bleu")


def test_no_rounds_are_refused():
    with pytest.raises(InputError, match="at least one round"):
        paired_bootstrap(GOLD, FIRST, SECOND, rounds=0)


def test_a_thousand_rounds_on_a_whole_test_set_take_less_than_a_second():
    data = systems(3453, (0.8, 0.82), seed=0)
    begin = time.process_time()
    paired_bootstrap(*data, rounds=1000)
    assert time.process_time() - begin < 1
