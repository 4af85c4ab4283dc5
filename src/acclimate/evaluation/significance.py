"""Is the difference real? Paired bootstrap and permutation test over sentences, and the interval of one system.

Every metric here is made of sums over sentences, so a resampled test set is a weighted sum of per-sentence counts: a
thousand rounds are one matrix product, and no sentence is read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.pairs import Pair, Reading, outside_tag, pair_up
from acclimate.evaluation.scores import tally_borders, tally_by_label, tally_tokens
from acclimate.evaluation.tally import Tally

Metric = Literal["span f1", "span precision", "span recall", "macro f1", "typeless f1", "token f1", "token accuracy"]
Numbers = NDArray[np.float64]

_PERCENTILES = (2.5, 97.5)
_ROUNDS_AT_ONCE = 256  # keeps 100,000 rounds on a large corpus within some tens of megabytes
_TIE = 1e-12  # differences of ratios that are equal on paper may differ in the last bit


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and the range that holds it in 95 % of resampled test sets."""

    value: float
    low: float
    high: float
    metric: Metric
    rounds: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on one test set. `difference` is second minus first: put the baseline first, and a gain is positive.

    `low` and `high` are the 95 % bootstrap interval of the difference, whatever the test; `p_value` is two-sided.
    """

    test: str
    metric: Metric
    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float
    rounds: int
    sentences: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def paired_bootstrap(
    gold: Corpus,
    first: Corpus,
    second: Corpus,
    *,
    rounds: int = 1000,
    seed: int = 0,
    metric: Metric = "span f1",
    reading: Reading = "lenient",
) -> Comparison:
    """Draw test sets with replacement, score both systems on each: how often is the difference off by its own size?

    The resampled differences are centred on the one observed, so the p-value is the share of rounds in which chance
    alone, around no difference, would move it that far in either direction (Efron & Tibshirani 1993, chapter 16).
    """
    one, other = count_both(gold, first, second, metric, reading)
    differences = bootstrap_differences(one, other, metric, rounds, seed)
    observed = _difference(one, other, metric)
    p_value = share_as_extreme(differences - observed, observed)
    return _compare("paired bootstrap over sentences", one, other, metric, differences, p_value)


def permutation_test(
    gold: Corpus,
    first: Corpus,
    second: Corpus,
    *,
    rounds: int = 1000,
    seed: int = 0,
    metric: Metric = "span f1",
    reading: Reading = "lenient",
) -> Comparison:
    """Swap the two systems' answers on random sentences: if they are alike, the swaps change nothing on average.

    Approximate randomisation (Noreen 1989; Yeh 2000). Prefer it to the bootstrap on few sentences: its p-value does
    not lean on the test set being a fair picture of all sentences.
    """
    one, other = count_both(gold, first, second, metric, reading)
    swapped = permutation_differences(one, other, metric, rounds, seed)
    p_value = share_as_extreme(swapped, _difference(one, other, metric))
    differences = bootstrap_differences(one, other, metric, rounds, seed)
    return _compare("permutation test over sentences", one, other, metric, differences, p_value)


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
    return Interval(float(figure(counts.sum(0), metric)), low, high, metric, rounds)


def count_both(
    gold: Corpus, first: Corpus, second: Corpus, metric: Metric, reading: Reading
) -> tuple[Numbers, Numbers]:
    """Per-sentence counts of two systems over the same labels."""
    systems = [pair_up(gold, first, reading), pair_up(gold, second, reading)]
    one, other = count_sentences(systems, metric, outside_tag(gold.kind))
    return one, other


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
            for label, found in sentence.items():
                counts[row, column[label]] = found.gold, found.predicted, found.correct
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


def bootstrap_differences(one: Numbers, other: Numbers, metric: Metric, rounds: int, seed: int) -> Numbers:
    """Second minus first on each resampled test set; both are resampled by the same draws, hence *paired*."""
    both = np.stack([one, other], axis=1)  # (sentence, system, label, 3)
    values = np.concatenate([figure(sums, metric) for sums in resample(both, rounds, seed)])  # (round, system)
    differences: Numbers = values[:, 1] - values[:, 0]
    return differences


def permutation_differences(one: Numbers, other: Numbers, metric: Metric, rounds: int, seed: int) -> Numbers:
    """Second minus first after the two have swapped their answers on a random half of the sentences."""
    generator = np.random.default_rng(seed)
    change = other - one
    change = change[change.any(axis=(1, 2))]  # where both systems count alike, swapping them changes nothing
    differences = []
    for some in portions(rounds):
        swaps = generator.integers(0, 2, (some, len(change)), dtype=np.uint8)
        moved = np.tensordot(swaps.astype(np.float64), change, axes=1)  # (round, label, 3)
        differences.append(figure(other.sum(0) - moved, metric) - figure(one.sum(0) + moved, metric))
    return np.concatenate(differences)


def share_as_extreme(differences: Numbers, observed: float) -> float:
    """Two-sided p-value. The observed set counts as one round, so p is never 0, which no finite test can claim."""
    extreme = int((np.abs(differences) >= abs(observed) - _TIE).sum())
    return (1 + extreme) / (1 + len(differences))


def _compare(
    test: str, one: Numbers, other: Numbers, metric: Metric, differences: Numbers, p_value: float
) -> Comparison:
    first, second = float(figure(one.sum(0), metric)), float(figure(other.sum(0), metric))
    low, high = percentile_range(differences)
    return Comparison(test, metric, first, second, second - first, low, high, p_value, len(differences), len(one))


def _difference(one: Numbers, other: Numbers, metric: Metric) -> float:
    return float(figure(other.sum(0), metric) - figure(one.sum(0), metric))


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


# what each metric counts in a sentence, by label; the empty label stands for all of them together
_TALLIES: dict[str, Callable[[Pair, str | None], dict[str, Tally]]] = {
    "span": lambda pair, outside: {"": Tally.of(pair.gold, pair.predicted)},
    "macro": lambda pair, outside: tally_by_label([pair]),
    "typeless": lambda pair, outside: {"": tally_borders(pair)},
    "token": lambda pair, outside: {"": tally_tokens(pair, outside)},
    "token accuracy": lambda pair, outside: {"": tally_tokens(pair, None)},
}
