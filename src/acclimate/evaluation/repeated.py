"""Two systems with several seeds each: is the difference of their means real? And Holm's rule for many such questions.

A test set is resampled by sentences, and a sentence comes with the answers of all seeds: they are not independent of
each other. The seeds themselves are taken as they are; how much they vary is what the standard deviation says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.pairs import Reading, outside_tag, pair_up
from acclimate.evaluation.significance import (
    Metric,
    Numbers,
    count_sentences,
    figure,
    percentile_range,
    portions,
    resample,
    share_as_extreme,
)


@dataclass(frozen=True, slots=True)
class SeedsComparison:
    """The mean of the second system's figures minus that of the first: with the baseline first, a gain is positive.

    `low` and `high` are the 95 % bootstrap interval of the difference; both p-values are two-sided.
    """

    metric: Metric
    first: float
    second: float
    difference: float
    low: float
    high: float
    bootstrap_p: float
    permutation_p: float
    rounds: int
    sentences: int
    seeds: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare_seeds(
    gold: Corpus,
    first: Sequence[Corpus],
    second: Sequence[Corpus],
    *,
    rounds: int = 1000,
    seed: int = 0,
    metric: Metric = "span f1",
    reading: Reading = "lenient",
) -> SeedsComparison:
    """Compare the predictions of two systems, one corpus per seed, in the same order of seeds."""
    if not first or len(first) != len(second):
        raise InputError(f"as many predictions of both systems are needed, not {len(first)} and {len(second)}.")
    systems = [pair_up(gold, predicted, reading) for predicted in (*first, *second)]
    counts = np.stack(count_sentences(systems, metric, outside_tag(gold.kind)), 1)  # (sentence, run, label, 3)
    one, other = counts[:, : len(first)], counts[:, len(first) :]
    before, after = mean_figure(one.sum(0), metric), mean_figure(other.sum(0), metric)
    observed = float(after - before)
    drawn = drawn_differences(one, other, metric, rounds, seed)
    swapped = swapped_differences(one, other, metric, rounds, seed)
    low, high = percentile_range(drawn)
    return SeedsComparison(
        metric=metric,
        first=float(before),
        second=float(after),
        difference=observed,
        low=low,
        high=high,
        bootstrap_p=share_as_extreme(drawn - observed, observed),
        permutation_p=share_as_extreme(swapped, observed),
        rounds=rounds,
        sentences=len(gold),
        seeds=len(first),
    )


def mean_figure(sums: Numbers, metric: Metric) -> Numbers:
    """The metric of each seed, (..., seed, label, 3) → its mean over the seeds, (...)."""
    return np.asarray(figure(sums, metric).mean(-1))


def drawn_differences(one: Numbers, other: Numbers, metric: Metric, rounds: int, seed: int) -> Numbers:
    """Second minus first on test sets drawn with replacement; both by the same draws. Counts are (sentence, seed,
    label, 3)."""
    both = np.stack([one, other], axis=1)  # (sentence, system, seed, label, 3)
    means = np.concatenate([mean_figure(sums, metric) for sums in resample(both, rounds, seed)])  # (round, system)
    return np.asarray(means[:, 1] - means[:, 0])


def swapped_differences(one: Numbers, other: Numbers, metric: Metric, rounds: int, seed: int) -> Numbers:
    """Second minus first after the two have swapped all their answers on a random half of the sentences."""
    generator = np.random.default_rng(seed)
    change = other - one
    change = change[change.any(axis=(1, 2, 3))]  # where both count alike, swapping them changes nothing
    found = []
    for some in portions(rounds):
        swaps = generator.integers(0, 2, (some, len(change)), dtype=np.uint8)
        moved = np.tensordot(swaps.astype(np.float64), change, axes=1)  # (round, seed, label, 3)
        found.append(mean_figure(other.sum(0) - moved, metric) - mean_figure(one.sum(0) + moved, metric))
    return np.concatenate(found)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's step-down rule (1979): the chance of any false alarm among all of
    them stays below the level at which they are read. The smallest is multiplied by their number, the next by one
    less, and so on; none falls below one before it, and none is above 1."""
    order = sorted(range(len(p_values)), key=lambda number: p_values[number])
    corrected = [0.0] * len(p_values)
    least = 0.0
    for rank, number in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[number]))
        corrected[number] = least
    return corrected
