"""How far two corpora can be told apart by their features: a number for what a map only shows.

A linear classifier learns to tell the two domains on one half of the sentences and is tried on the other, then the
other way round. Points of one sentence never stand on both sides, nor do sentences that read the same: neighbours in a
sentence are alike, and a classifier that remembered sentences would seem to know domains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acclimate.data.problems import InputError
from acclimate.evaluation.table import count

if TYPE_CHECKING:
    from acclimate.analysis.feature_map import FeaturePoints

Floats = NDArray[np.float64]
CHANCE = 0.5
STRENGTH = 0.001  # of the penalty on large weights, beside the mean loss of a point; ten times more tells less apart


@dataclass(frozen=True, slots=True)
class Separability:
    """Balanced accuracy on held-out sentences: 0.5 where the domains cannot be told apart, 1 where they always can."""

    accuracy: float
    folds: tuple[float, float]  # learnt on one half, tried on the other
    points: int
    sentences: int  # different ones

    @property
    def a_distance(self) -> float:
        """The proxy A-distance, from 0 (alike) to 2. A classifier worse than chance has learnt nothing: 0, too."""
        return max(0.0, 2 * (2 * self.accuracy - 1))

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "a_distance": self.a_distance}

    def render(self, names: Sequence[str], unit: str) -> str:
        """The same for people."""
        one, other = (f"{fold:.3f}" for fold in self.folds)
        return "\n".join(
            [
                f"{' against '.join(names)}: {count(self.points, unit)}; {self.sentences:,} different sentences",
                f"accuracy of a linear classifier: {self.accuracy:.3f} (halves {one} and {other}; "
                "0.5: cannot be told apart, 1: always)",
                f"proxy A-distance: {self.a_distance:.3f} (0: alike, 2: apart)",
            ]
        )


def domain_separability(found: FeaturePoints, seed: int = 0) -> Separability:
    """How far the two corpora of these points can be told apart. The seed decides on the halves."""
    names = found.names
    if len(names) != 2:
        given = ", ".join(names) or "none"
        raise InputError(f"two corpora are told apart, not {len(names)} ({given}). Choose two: points.of(one, other).")
    is_second = np.array([domain == names[1] for domain in found.domains])
    in_first_half = halves(is_second, found.sentences, seed)
    for name, inside in zip(names, (~is_second, is_second), strict=True):
        if not in_first_half[inside].any() or in_first_half[inside].all():
            raise InputError(f"{name} has too few different sentences: both halves need some of it.")
    points = found.points.astype(np.float64)
    one, other = (_tried(points, is_second, learnt) for learnt in (in_first_half, ~in_first_half))
    return Separability((one + other) / 2, (one, other), len(found), len(set(found.sentences)))


def halves(is_second: NDArray[np.bool_], sentences: Sequence[int], seed: int) -> NDArray[np.bool_]:
    """Which points are in the first half.

    Sentences are dealt out in turns, those of both corpora between those of one: so each corpus that has two different
    sentences has some in both halves.
    """
    homes: dict[int, set[bool]] = {}
    for sentence, second in zip(sentences, is_second.tolist(), strict=True):
        homes.setdefault(sentence, set()).add(second)
    dice = Random(seed)
    order = sorted(homes, key=lambda sentence: (sorted(homes[sentence]), dice.random()))
    first = set(order[::2])
    return np.array([sentence in first for sentence in sentences])


def _tried(points: Floats, is_second: NDArray[np.bool_], learnt: NDArray[np.bool_]) -> float:
    """Learn on some points; the balanced accuracy on the others."""
    centre, spread = points[learnt].mean(0), points[learnt].std(0)
    scaled = (points - centre) / np.where(spread > 0, spread, 1.0)
    weights = fit(scaled[learnt], is_second[learnt])
    says_second = scaled[~learnt] @ weights[:-1] + weights[-1] > 0
    truth = is_second[~learnt]
    return float((says_second[truth].mean() + (~says_second[~truth]).mean()) / 2)


def fit(points: Floats, is_second: NDArray[np.bool_], strength: float = STRENGTH, most: int = 100) -> Floats:
    """Logistic regression by Newton's method: a weight per feature, and the offset behind them.

    Both domains count the same, however many points they have. The offset is not held small.
    """
    inputs = np.column_stack([points, np.ones(len(points))])
    signs = np.where(is_second, 1.0, -1.0)
    shares = np.where(is_second, 0.5 / is_second.sum(), 0.5 / (~is_second).sum())
    penalties = np.array([strength] * points.shape[1] + [1e-9])  # not 0: the curvature must have an inverse

    def loss(weights: Floats) -> float:
        return float(shares @ np.logaddexp(0, -signs * (inputs @ weights)) + penalties @ weights**2 / 2)

    weights = np.zeros(inputs.shape[1])
    for _ in range(most):
        wrong = np.exp(-np.logaddexp(0, signs * (inputs @ weights)))  # the chance given to the other domain
        slope = penalties * weights - inputs.T @ (shares * signs * wrong)
        curvature = (inputs.T * (shares * wrong * (1 - wrong))) @ inputs + np.diag(penalties)
        step = np.linalg.solve(curvature, slope)
        gain = float(slope @ step)
        if gain < 1e-10:
            break
        length = 1.0
        while loss(weights - length * step) > loss(weights) - 0.25 * length * gain and length > 1e-6:
            length /= 2  # a whole step may go too far
        weights = weights - length * step
    return weights
