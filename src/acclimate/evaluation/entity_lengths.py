"""Span scores by the length of the entity: long names are harder, and domains differ in how long theirs are."""

from __future__ import annotations

import math
from collections.abc import Iterable

from acclimate.data.schemes import Span
from acclimate.evaluation.pairs import Pair
from acclimate.evaluation.tally import Tally

# how many words the longest entity of each bucket may have
ENTITY_BUCKETS: dict[str, float] = {"1": 1, "2": 2, "3": 3, "4": 4, "5+": math.inf}


def entity_bucket(span: Span) -> str:
    """The first bucket that a span fits into."""
    return next(name for name, longest in ENTITY_BUCKETS.items() if span.end - span.start <= longest)


def tally_by_entity_length(pairs: Iterable[Pair]) -> dict[str, Tally]:
    """Gold spans are counted by their length and predicted ones by theirs, so that these add up to all spans."""
    tallies = dict.fromkeys(ENTITY_BUCKETS, Tally())
    for pair in pairs:
        for bucket in tallies:
            gold, predicted = (
                [span for span in spans if entity_bucket(span) == bucket] for spans in (pair.gold, pair.predicted)
            )
            tallies[bucket] += Tally.of(gold, predicted)
    return tallies
