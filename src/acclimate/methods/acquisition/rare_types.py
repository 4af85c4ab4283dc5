"""Tag count: the expected number of entities of types that are rare, or new, among the labelled sentences.

An entity counts 1 / (1 + n), where n entities of its type are labelled. So one of a type that nobody has labelled yet
counts most, and a type that is labelled a hundred times hardly counts.
"""

from __future__ import annotations

import numpy as np

from acclimate.methods.acquisition.candidates import Candidates, Scores
from acclimate.methods.acquisition.expected_entities import expected_counts, labels_of


def rare_types(candidates: Candidates) -> Scores:
    tags = candidates.tagger_at_hand.tags
    worth = np.array([1 / (1 + candidates.known_labels[label]) for label in labels_of(tags)])
    return np.array([float(expected_counts(row, tags) @ worth) for row in candidates.marginals])
