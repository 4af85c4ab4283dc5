"""The acquisitions by name, and how a batch is ranked by one. A new one is a file with a function and one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acclimate.methods.acquisition.candidates import Candidates, Scores
from acclimate.methods.acquisition.committee_disagreement import committee_disagreement
from acclimate.methods.acquisition.dropout_disagreement import dropout_disagreement
from acclimate.methods.acquisition.expected_entities import expected_entities, rare_types
from acclimate.methods.acquisition.fluctuation import fluctuation
from acclimate.methods.acquisition.sequence_uncertainty import dense_uncertainty, density, sequence_uncertainty
from acclimate.model.tagger import Tagger

COMPARES_ROUNDS = ("committee", "fluctuation")


def at_random(candidates: Candidates) -> Scores:
    """What every other acquisition is compared with."""
    return np.random.default_rng(candidates.seed).random(len(candidates.sentences))


ACQUISITIONS: dict[str, Callable[[Candidates], Scores]] = {
    "random": at_random,
    "entities": expected_entities,
    "uncertainty": sequence_uncertainty,
    "bald": dropout_disagreement,
    "committee": committee_disagreement,
    "rare-types": rare_types,
    "fluctuation": fluctuation,
    "density": dense_uncertainty,
    "typical": density,
}


def suited(name: str, candidates: Candidates) -> str:
    """The acquisition, or what stands in for it where it lacks something: nothing is labelled yet, so that doubt says
    little; no tagger is there, or no earlier one; or it is a compact one."""
    if name in ("random", "typical"):
        return name
    if candidates.tagger is None:
        return "typical"
    lacks_rounds = name in COMPARES_ROUNDS and not candidates.earlier
    lacks_features = name == "bald" and not isinstance(candidates.tagger, Tagger)
    return "entities" if lacks_rounds or lacks_features or not len(candidates.known) else name


def ranking(candidates: Candidates, batch: int) -> list[int]:
    """All sentences, the first to label first: a diverse batch, and behind it the others by their score alone."""
    diversity, name = candidates.settings.diversity, suited(candidates.settings.name, candidates)
    scores = ACQUISITIONS[name](candidates)
    taken: list[int] = []
    if name != "random" and diversity:
        taken = diverse_batch(scores, candidates.features, batch, diversity, candidates.known_features)
    rest = np.argsort(-scores, kind="stable").tolist()
    first = set(taken)
    return [*taken, *(number for number in rest if number not in first)]


def diverse_batch(
    scores: NDArray[Any], features: NDArray[Any], size: int, weight: float, known: NDArray[Any]
) -> list[int]:
    """The numbers of `size` sentences that score well, each unlike those taken before. Of equals the first is taken.

    Maximal marginal relevance (Carbonell and Goldstein 1998): the next sentence has the highest

        (1 - weight) * rank - weight * (largest similarity to one that is taken, or known)

    `rank` runs from 1 for the highest score to 0 for the lowest, so that scores of any kind can be weighed."""
    distinct, places = np.unique(np.asarray(scores, np.float64), return_inverse=True)
    ranks = (1 - weight) * (places / max(1, len(distinct) - 1))
    nearest = (features @ known.T).max(1) if len(known) else np.zeros(len(scores))
    taken: list[int] = []
    waiting = np.ones(len(scores), bool)
    for _ in range(min(size, len(scores))):
        worth = np.where(waiting, ranks - weight * nearest, -np.inf)
        best = int(worth.argmax())
        taken.append(best)
        waiting[best] = False
        nearest = np.maximum(nearest, features @ features[best])
    return taken
