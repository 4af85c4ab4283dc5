"""Span scores by the length of the sentence: in buckets, and short against long (MSLM, Table 5)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.evaluation.pairs import Pair
from acclimate.evaluation.tally import Tally, mean

# how long the longest sentence of each bucket may be
BUCKETS: dict[str, float] = {"1-10": 10, "11-20": 20, "21-30": 30, "31-40": 40, "41+": math.inf}


@dataclass(frozen=True, slots=True)
class LengthGroup:
    """Some of the sentences, and their spans."""

    sentences: int
    span: Tally

    @property
    def exact_match(self) -> float:
        """Share of the gold spans of these sentences found with both borders and label."""
        return self.span.recall

    def as_dict(self) -> dict[str, Any]:
        return {"sentences": self.sentences, "exact_match": self.exact_match, **self.span.as_dict()}


@dataclass(frozen=True, slots=True)
class ByLength:
    """Every sentence is in one bucket, and is either short (not longer than the mean) or long."""

    mean_length: float
    short: LengthGroup
    long: LengthGroup
    buckets: Mapping[str, LengthGroup]

    def as_dict(self) -> dict[str, Any]:
        return {
            "mean_length": self.mean_length,
            "short": self.short.as_dict(),
            "long": self.long.as_dict(),
            "buckets": {name: group.as_dict() for name, group in self.buckets.items()},
        }


def split_by_length(pairs: Sequence[Pair]) -> ByLength:
    """The mean is that of the sentences scored, so that both halves are filled whatever the domain."""
    average = mean(len(pair.words) for pair in pairs)
    buckets: dict[str, list[Pair]] = {name: [] for name in BUCKETS}
    for pair in pairs:
        buckets[bucket_of(len(pair.words))].append(pair)
    return ByLength(
        average,
        group(pair for pair in pairs if len(pair.words) <= average),
        group(pair for pair in pairs if len(pair.words) > average),
        {name: group(chosen) for name, chosen in buckets.items()},
    )


def bucket_of(length: int) -> str:
    """The first bucket that a sentence fits into."""
    return next(name for name, longest in BUCKETS.items() if length <= longest)


def group(pairs: Iterable[Pair]) -> LengthGroup:
    """Count some sentences and their spans."""
    tallies = [Tally.of(pair.gold, pair.predicted) for pair in pairs]
    return LengthGroup(len(tallies), sum(tallies, Tally()))
