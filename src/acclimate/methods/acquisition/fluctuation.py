"""Fluctuation: how often the tags of a sentence changed from one round of learning to the next.

What a tagger learns for good it keeps; what it tags now so and now so lies where it has not decided yet. The score is
the share of words whose likeliest tag changed, averaged over the rounds, where each change weighs twice as much as the
one before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from acclimate.methods.acquisition.candidates import Candidates, Scores
from acclimate.methods.acquisition.committee_disagreement import answers_of_all


def fluctuation(candidates: Candidates) -> Scores:
    rounds = [[row.argmax(-1) for row in rows] for rows in answers_of_all(candidates)]
    return np.array([changes(np.stack(rows)) for rows in zip(*rounds, strict=True)])


def changes(tags: NDArray[Any]) -> float:
    """The weighted mean share of words that changed, of tags by round, (round, word)."""
    shares = (tags[1:] != tags[:-1]).mean(1)  # (change)
    weights = 2.0 ** np.arange(len(shares))
    return float((weights @ shares) / weights.sum()) if len(shares) else 0.0
