"""At random: what every other acquisition is compared with."""

from __future__ import annotations

import numpy as np

from acclimate.methods.acquisition.candidates import Candidates, Scores


def random_order(candidates: Candidates) -> Scores:
    return np.random.default_rng(candidates.seed).random(len(candidates.sentences))
