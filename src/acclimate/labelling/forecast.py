"""What more labels are expected to bring: the learning curve so far, drawn on a little further.

The taggers of several rounds tag the same held-back sentences. A line through their F1 over log(1 + labelled sentences)
is drawn on. How sure that is, the bootstrap tells: the line is drawn anew for many draws of the held-back sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Corpus
from acclimate.evaluation.counts import outside_tag, pair_up
from acclimate.evaluation.significance import count_sentences, figure, percentile_range, resample

MORE = 20  # sentences that are looked ahead
FEWEST_TAGGERS, FEWEST_SENTENCES, FEWEST_SPANS = 3, 20, 10
_ROUNDS = 500


@dataclass(frozen=True)
class Forecast:
    """The gain of F1 that so many sentences more are expected to bring, and its 95 % interval. Fractions."""

    more: int
    gain: float
    low: float
    high: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def forecast(gold: Corpus, answers: Sequence[Corpus], labelled: Sequence[int], more: int = MORE) -> Forecast | None:
    """By the answers of taggers that had learnt so many labelled sentences; None where that is not known yet."""
    if len(set(labelled)) < FEWEST_TAGGERS or len(gold) < FEWEST_SENTENCES or gold.label_counts.total() < FEWEST_SPANS:
        return None
    pairs = [pair_up(gold, answer) for answer in answers]
    counts = np.stack(count_sentences(pairs, "span f1", outside_tag(gold.kind)), 1)  # (sentence, tagger, 1, 3)
    drawn = np.concatenate([figure(sums, "span f1") for sums in resample(counts, _ROUNDS, 0)])  # (round, tagger)
    steps = np.log1p(np.array(labelled, np.float64))
    ahead = np.log1p(max(labelled) + more) - np.log1p(max(labelled))
    gains = slopes(steps, drawn) * ahead
    (gain,) = slopes(steps, figure(counts.sum(0), "span f1")[None]) * ahead
    return Forecast(more, float(gain), *percentile_range(gains))


def slopes(steps: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The slope of the line of least squares through each row of values, (row, step)."""
    centred = steps - steps.mean()
    return np.asarray(values @ centred / (centred @ centred))
