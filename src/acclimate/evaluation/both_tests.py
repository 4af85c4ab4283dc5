"""Two systems by both tests. The bootstrap alone is too sure of a handful of sentences: where all of them change alike,
no drawn test set differs from another, and chance seems to have no part in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.evaluation.significance import (
    Comparison,
    Metric,
    count_both,
    paired_bootstrap,
    permutation_differences,
    share_as_extreme,
)

SURE = 0.05  # the p-value above which nothing is claimed


@dataclass(frozen=True, slots=True)
class BothTests(Comparison):
    """What the bootstrap says (`p_value`, `low`, `high`), and the p-value of the permutation test beside it."""

    permutation_p: float

    @property
    def larger_p(self) -> float:
        """The one to judge by."""
        return max(self.p_value, self.permutation_p)


def both_tests(gold: Corpus, first: Corpus, second: Corpus, metric: Metric) -> BothTests:
    drawn = paired_bootstrap(gold, first, second, metric=metric)
    one, other = count_both(gold, first, second, metric, "lenient")
    swapped = permutation_differences(one, other, metric, drawn.rounds, seed=0)
    return BothTests(**drawn.as_dict(), permutation_p=share_as_extreme(swapped, drawn.difference))


def larger_p(change: Mapping[str, Any]) -> float:
    """Of a comparison as it was written down; older ones know the bootstrap alone."""
    return float(max(change["p_value"], change.get("permutation_p", 0.0)))
