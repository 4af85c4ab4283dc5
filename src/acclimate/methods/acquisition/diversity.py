"""Diversity within a batch: of sentences that score well, one after the other, each unlike those taken before.

Maximal marginal relevance (Carbonell and Goldstein 1998): the next sentence has the highest

    (1 - weight) * rank - weight * (largest similarity to one that is taken, or labelled already)

`rank` runs from 1 for the highest score to 0 for the lowest, so that scores of any kind can be weighed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def diverse_batch(
    scores: NDArray[Any], features: NDArray[Any], size: int, weight: float, known: NDArray[Any] | None = None
) -> list[int]:
    """The numbers of `size` sentences in the order in which they are taken. Of equal ones the first is taken."""
    ranks = (1 - weight) * ranked(scores)
    nearest = np.zeros(len(scores)) if known is None or not len(known) else (features @ known.T).max(1)
    taken: list[int] = []
    waiting = np.ones(len(scores), bool)
    for _ in range(min(size, len(scores))):
        worth = np.where(waiting, ranks - weight * nearest, -np.inf)
        best = int(worth.argmax())
        taken.append(best)
        waiting[best] = False
        nearest = np.maximum(nearest, features @ features[best])
    return taken


def ranked(scores: NDArray[Any]) -> NDArray[np.float64]:
    """1 for the highest score, 0 for the lowest; equal scores have equal ranks."""
    distinct, places = np.unique(np.asarray(scores, np.float64), return_inverse=True)
    return np.asarray(places / max(1, len(distinct) - 1), np.float64)
