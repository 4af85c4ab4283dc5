"""The acquisitions by name, and how a batch is ranked by one. A new one is a file with a function and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from acclimate.methods.acquisition.candidates import Candidates, Scores
from acclimate.methods.acquisition.committee_disagreement import committee_disagreement, vote_entropy
from acclimate.methods.acquisition.density import dense_uncertainty, density
from acclimate.methods.acquisition.diversity import diverse_batch
from acclimate.methods.acquisition.dropout_disagreement import dropout_disagreement
from acclimate.methods.acquisition.expected_entities import expected_entities
from acclimate.methods.acquisition.fluctuation import fluctuation
from acclimate.methods.acquisition.random_order import random_order
from acclimate.methods.acquisition.rare_types import rare_types
from acclimate.methods.acquisition.sequence_uncertainty import sequence_uncertainty
from acclimate.methods.acquisition.settings import AcquisitionSettings
from acclimate.model.tagger import Tagger
from acclimate.settings import UsageError
from acclimate.spelling import argument, did_you_mean

Need = Literal["tagger", "features of the encoder", "taggers of former rounds"]


@dataclass(frozen=True)
class Acquisition:
    """An idea of which sentences are worth labelling, and what it needs."""

    name: str
    summary: str
    score: Callable[[Candidates], Scores]
    needs: frozenset[Need] = frozenset({"tagger"})
    is_diverse: bool = True  # whether neighbours in the ranking are kept unlike each other


RANDOM = Acquisition("random", "at random", random_order, frozenset(), is_diverse=False)
ENTITIES = Acquisition("entities", "those in which the most entities are expected", expected_entities)
TYPICAL = Acquisition("typical", "those that are most like all the others", density, frozenset())
_ROUNDS: frozenset[Need] = frozenset({"tagger", "taggers of former rounds"})
_FEATURES: frozenset[Need] = frozenset({"tagger", "features of the encoder"})

ACQUISITIONS: dict[str, Acquisition] = {
    each.name: each
    for each in (
        RANDOM,
        ENTITIES,
        Acquisition("uncertainty", "those whose tags are the least sure, by length (MNLP)", sequence_uncertainty),
        Acquisition(
            "bald", "those on which dropout in the last layer changes the answer", dropout_disagreement, _FEATURES
        ),
        Acquisition(
            "committee", "those on which the taggers of the last rounds differ", committee_disagreement, _ROUNDS
        ),
        Acquisition("votes", "those on whose tags the taggers of the last rounds vote unlike", vote_entropy, _ROUNDS),
        Acquisition("rare-types", "those in which entities of rare or new types are expected", rare_types),
        Acquisition("fluctuation", "those whose tags change from round to round", fluctuation, _ROUNDS),
        Acquisition("density", "those that are unsure and like many others", dense_uncertainty),
        TYPICAL,
    )
}


def find_acquisition(name: str) -> Acquisition:
    if name not in ACQUISITIONS:
        known = f"{did_you_mean(name, ACQUISITIONS)} There are: {', '.join(ACQUISITIONS)}."
        raise UsageError(f"{argument('acquisition', name)}: there is no such acquisition.{known}")
    return ACQUISITIONS[name]


def suited(acquisition: Acquisition, candidates: Candidates) -> Acquisition:
    """The acquisition, or what stands in for it where it lacks something: nothing is labelled yet, so that doubt says
    little; no tagger is there; or it is a compact one."""
    if acquisition is RANDOM or acquisition is TYPICAL:
        return acquisition
    if candidates.tagger is None:
        return TYPICAL
    lacks_rounds = "taggers of former rounds" in acquisition.needs and not candidates.earlier
    lacks_features = "features of the encoder" in acquisition.needs and not isinstance(candidates.tagger, Tagger)
    return ENTITIES if not len(candidates.known) or lacks_rounds or lacks_features else acquisition


def ranking(candidates: Candidates, settings: AcquisitionSettings, batch: int) -> list[int]:
    """All sentences, the first to label first: a diverse batch, and behind it the others by their score alone."""
    acquisition = suited(find_acquisition(settings.name), candidates)
    scores = acquisition.score(candidates)
    taken: list[int] = []
    if acquisition.is_diverse and settings.diversity:
        known = candidates.known_features
        taken = diverse_batch(scores, candidates.features, batch, settings.diversity, known)
    rest = np.argsort(-scores, kind="stable").tolist()
    first = set(taken)
    return [*taken, *(number for number in rest if number not in first)]
