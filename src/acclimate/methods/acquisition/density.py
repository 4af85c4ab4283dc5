"""Density: how much a sentence is like all others, so that what is learnt from it helps many.

Alone it is the mean similarity to the pool. Beside uncertainty it is a factor (Settles and Craven 2008, "information
density"): odd sentences that are like no other are not worth the reading.
"""

from __future__ import annotations

import numpy as np

from acclimate.methods.acquisition.candidates import Candidates, Scores
from acclimate.methods.acquisition.sequence_uncertainty import sequence_uncertainty


def density(candidates: Candidates) -> Scores:
    """The mean cosine with the sentences of the pool: one product, since a mean of products is a product of means."""
    return np.asarray(candidates.features @ candidates.text_features.mean(0), np.float64)


def dense_uncertainty(candidates: Candidates) -> Scores:
    """Uncertainty times density, where a sentence like no other has none."""
    return sequence_uncertainty(candidates) * np.maximum(density(candidates), 0.0)
