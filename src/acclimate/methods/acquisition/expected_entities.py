"""The expected number of entities: the probability that one begins, summed over the words of a sentence.

The sentences that a tagger is least sure about are often odd ones, and a tagger that is new to a domain is sure of the
wrong things. What it expects to find names in teaches more at the beginning.

By rare types an entity counts 1 / (1 + n), where n entities of its type are labelled. So one of a type that nobody has
labelled yet counts most, and a type that is labelled a hundred times hardly counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acclimate.data.schemes import split_tag
from acclimate.methods.acquisition.candidates import Candidates, Scores


def expected_entities(candidates: Candidates) -> Scores:
    tags = candidates.tagger_at_hand.tags
    return np.array([expected_counts(row, tags).sum() for row in candidates.marginals])


def rare_types(candidates: Candidates) -> Scores:
    tags, known = candidates.tagger_at_hand.tags, candidates.known.label_counts
    worth = np.array([1 / (1 + known[label]) for label in labels_of(tags)])
    return np.array([float(expected_counts(row, tags) @ worth) for row in candidates.marginals])


def expected_counts(marginals: NDArray[Any], tags: Sequence[str]) -> NDArray[np.float64]:
    """How many entities of each label a sentence is expected to have, in the order of `labels_of(tags)`.

    Without tags that begin an entity (IO) one begins where the probability of the label rises."""
    labels, split = labels_of(tags), [split_tag(tag) for tag in tags]
    inside = np.array([[label == name for label in labels] for _, name in split], np.float64)  # (tag, label)
    begins = np.array([[letter in "BS"] for letter, _ in split]) * inside
    if begins.any(0).all():
        return np.asarray((marginals @ begins).sum(0))
    present = marginals @ inside
    before = np.vstack([np.zeros((1, len(labels))), present[:-1]])
    return np.asarray(np.maximum(present - before, 0).sum(0))


def labels_of(tags: Sequence[str]) -> list[str]:
    return sorted({label for _, label in map(split_tag, tags) if label})
