"""MNLP: how improbable the best tags of a sentence are, for its length (Shen et al. 2018).

The log-probability of the best path is its score minus the log partition; divided by the number of words, so that long
sentences are not taken for their length alone. The score is its negative.

Density is a factor beside it (Settles and Craven 2008, "information density"): odd sentences that are like no other are
not worth the reading. It is the mean similarity to the pool, so that what is learnt from a sentence helps many.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acclimate.methods.acquisition.candidates import Candidates, Scores
from acclimate.model.heads.legal_chain import TagChain


def sequence_uncertainty(candidates: Candidates) -> Scores:
    tagger = candidates.tagger_at_hand
    chain = tagger.chain()
    by_length: dict[int, list[tuple[int, NDArray[Any]]]] = defaultdict(list)
    doubts = np.zeros(len(candidates.sentences))
    for number, row in tagger.read(candidates.sentences, "decisions"):
        by_length[len(row)].append((number, row[:, 2:]))
        # where types have a head of their own, the chain knows bare spans
        doubts[number] = -np.log(np.maximum(row[:, 1], 1e-12)).mean() if chain.tags != tagger.tags else 0.0
    for length, rows in by_length.items():
        scores = np.stack([row for _, row in rows]).astype(np.float64)
        doubts[[number for number, _ in rows]] -= best_log_probabilities(chain, scores) / length
    return doubts


def density(candidates: Candidates) -> Scores:
    """The mean cosine with the sentences of the pool: one product, since a mean of products is a product of means."""
    return np.asarray(candidates.features @ candidates.text_features.mean(0), np.float64)


def dense_uncertainty(candidates: Candidates) -> Scores:
    """Uncertainty times density, where a sentence like no other has none."""
    return sequence_uncertainty(candidates) * np.maximum(density(candidates), 0.0)


def best_log_probabilities(chain: TagChain, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The log-probability of the best path through each of several sentences of one length, (sentence, word, tag)."""
    moves = chain.moves.astype(np.float64)
    state = scores[:, 0] + chain.start
    best = state
    for word in scores.transpose(1, 0, 2)[1:]:
        state = np.logaddexp.reduce(state[:, :, None] + moves, axis=1) + word
        best = (best[:, :, None] + moves).max(1) + word
    total = np.logaddexp.reduce(state + chain.end, axis=1)
    return np.asarray(np.minimum((best + chain.end).max(1) - total, 0.0))
