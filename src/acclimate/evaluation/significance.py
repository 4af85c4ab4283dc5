"""Is a difference of scores real? Bootstrap and permutation test over sentences, and the interval of one system.

Every metric is made of sums over sentences, so a resampled test set is a weighted sum of counts per sentence: a
thousand rounds are one matrix product. A sentence comes with the answers of all seeds, which are not independent. How
much the seeds vary is what the standard deviation says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.counts import Pair, Reading, Tally, outside_tag, pair_up
from acclimate.evaluation.scores import tally_borders, tally_by_label, tally_tokens

Metric = Literal["span f1", "span precision", "span recall", "macro f1", "typeless f1", "token f1", "token accuracy"]
Numbers = NDArray[np.float64]

_PERCENTILES = (2.5, 97.5)
_ROUNDS_AT_ONCE = 256  # keeps 100,000 rounds on a large corpus within some tens of megabytes
SURE = 0.05  # the p-value above which no difference is claimed
_TIE = 1e-12  # differences of ratios that are equal on paper may differ in the last bit


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and the range that holds it in 95 % of resampled test sets."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SeedsComparison:
    """The mean score of the second system minus that of the first: with the baseline first, a gain is positive.

    `low` and `high` are the 95 % bootstrap interval of the difference. Both p-values are two-sided.
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

    @property
    def larger_p(self) -> float:
        """The p-value to judge by."""
        return max(self.bootstrap_p, self.permutation_p)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def larger_p(comparison: Mapping[str, Any]) -> float:
    """The p-value to judge by, of a comparison read from a file."""
    return float(max(comparison["bootstrap_p"], comparison["permutation_p"]))


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
    """Compare the predictions of two systems, one corpus per seed, in the same order of seeds.

    The bootstrap draws test sets with replacement (Efron & Tibshirani 1993, chapter 16). Its p-value is the share of
    rounds in which chance alone moves the difference as far from its own value as that is from 0. The permutation test
    swaps the answers of both systems on random sentences (Noreen 1989; Yeh 2000). Judge by the larger of the two: the
    bootstrap alone is too sure of a few sentences. Where all of these change alike, every drawn test set says the same.
    """
    if not first or len(first) != len(second):
        raise InputError(f"both systems need the same number of predictions, not {len(first)} and {len(second)}.")
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


def interval(
    gold: Corpus,
    predicted: Corpus,
    *,
    rounds: int = 1000,
    seed: int = 0,
    metric: Metric = "span f1",
    reading: Reading = "lenient",
) -> Interval:
    """The 95 % bootstrap interval of one system's figure, over sentences."""
    (counts,) = count_sentences([pair_up(gold, predicted, reading)], metric, outside_tag(gold.kind))
    values = np.concatenate([figure(sums, metric) for sums in resample(counts, rounds, seed)])
    low, high = percentile_range(values)
    return Interval(float(figure(counts.sum(0), metric)), low, high)


def count_sentences(systems: Sequence[Sequence[Pair]], metric: Metric, outside: str | None) -> list[Numbers]:
    """What the metric needs of each sentence, as (sentence, label, gold/predicted/correct); one label unless macro."""
    if metric not in get_args(Metric):
        raise InputError(f"metric {metric!r} is not known: expected one of {', '.join(get_args(Metric))}.")
    tally = _TALLIES[metric.split()[0] if metric != "token accuracy" else metric]
    tallies = [[tally(pair, outside) for pair in pairs] for pairs in systems]
    labels = sorted({label for system in tallies for sentence in system for label in sentence})
    column = {label: number for number, label in enumerate(labels)}
    arrays = []
    for system in tallies:
        counts = np.zeros((len(system), len(labels), 3))
        for row, sentence in enumerate(system):
            for label, tallied in sentence.items():
                counts[row, column[label]] = tallied.gold, tallied.predicted, tallied.correct
        arrays.append(counts)
    return arrays


def figure(sums: Numbers, metric: Metric) -> Numbers:
    """The metric of summed counts (..., label, gold/predicted/correct): the mean over labels that occur, 0 if none."""
    gold, predicted, correct = sums[..., 0], sums[..., 1], sums[..., 2]
    if metric.endswith("precision"):
        values = _ratio(correct, predicted)
    elif metric.endswith("recall"):
        values = _ratio(correct, gold)
    else:  # F1; accuracy too, where everything counts as gold and as predicted
        values = _ratio(2 * correct, gold + predicted)
    return _ratio(values.sum(-1), (gold + predicted > 0).sum(-1).astype(np.float64))


def resample(counts: Numbers, rounds: int, seed: int) -> Iterator[Numbers]:
    """Summed counts of `rounds` test sets drawn with replacement, some hundred at a time: (round, ..., 3)."""
    generator = np.random.default_rng(seed)
    size = len(counts)
    for some in portions(rounds):
        drawn = generator.integers(0, max(size, 1), (some, size))  # (round, sentence)
        # how often each sentence was drawn: rounds lie one after the other in a single long histogram
        drawn += size * np.arange(some)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=some * size).reshape(some, size)
        yield np.tensordot(weights.astype(np.float64), counts, axes=1)


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
    differences = []
    for some in portions(rounds):
        swaps = generator.integers(0, 2, (some, len(change)), dtype=np.uint8)
        moved = np.tensordot(swaps.astype(np.float64), change, axes=1)  # (round, seed, label, 3)
        differences.append(mean_figure(other.sum(0) - moved, metric) - mean_figure(one.sum(0) + moved, metric))
    return np.concatenate(differences)


def share_as_extreme(differences: Numbers, observed: float) -> float:
    """Two-sided p-value. The observed set counts as one round, so p is never 0, which no finite test can claim."""
    extreme = int((np.abs(differences) >= abs(observed) - _TIE).sum())
    return (1 + extreme) / (1 + len(differences))


def percentile_range(values: Numbers) -> tuple[float, float]:
    low, high = np.percentile(values, _PERCENTILES)
    return float(low), float(high)


def portions(rounds: int) -> Iterator[int]:
    if rounds < 1:
        raise InputError(f"rounds is {rounds}; at least one round is needed, and 1000 are usual.")
    for done in range(0, rounds, _ROUNDS_AT_ONCE):
        yield min(_ROUNDS_AT_ONCE, rounds - done)


def _ratio(part: Numbers, whole: Numbers) -> Numbers:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


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


# what each metric counts in a sentence, by label; the empty label stands for all of them together
_TALLIES: dict[str, Callable[[Pair, str | None], dict[str, Tally]]] = {
    "span": lambda pair, outside: {"": Tally.of(pair.gold, pair.predicted)},
    "macro": lambda pair, outside: tally_by_label([pair]),
    "typeless": lambda pair, outside: {"": tally_borders(pair)},
    "token": lambda pair, outside: {"": tally_tokens(pair, outside)},
    "token accuracy": lambda pair, outside: {"": tally_tokens(pair, None)},
}
