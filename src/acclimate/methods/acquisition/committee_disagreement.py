"""Query by committee: how far the taggers of the last rounds are from their mean (McCallum and Nigam 1998).

For each word the Kullback-Leibler divergence of each member's marginals from the mean of all, averaged over members and
then over words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acclimate.data.schemes import split_tag
from acclimate.methods.acquisition.candidates import Candidates, Scores, marginals_of
from acclimate.model.text_tagger import TextTagger


def committee_disagreement(candidates: Candidates) -> Scores:
    answers = answers_of_all(candidates)
    return np.array([float(divergence(np.stack(rows)).mean()) for rows in zip(*answers, strict=True)])


def divergence(answers: NDArray[Any]) -> NDArray[np.float64]:
    """The mean divergence from the consensus at each word, of answers (member, word, tag)."""
    consensus = np.maximum(answers.mean(0), 1e-300)
    logs = np.log(np.maximum(answers, 1e-300)) - np.log(consensus)
    return np.asarray((answers * logs).sum(-1).mean(0))


def answers_of_all(candidates: Candidates) -> list[list[NDArray[Any]]]:
    """The marginals of every tagger over the tags of all, the oldest tagger first."""
    taggers = [*candidates.earlier, candidates.tagger_at_hand]
    tags = sorted({tag for tagger in taggers for tag in spelled_tags(tagger)})
    asked = [marginals_of(tagger, candidates.sentences) for tagger in candidates.earlier] + [candidates.marginals]
    return [
        [row @ _places(spelled_tags(tagger), tags) for row in rows] for tagger, rows in zip(taggers, asked, strict=True)
    ]


def spelled_tags(tagger: TextTagger) -> list[str]:
    """The tags of a tagger in IOB2, whatever its scheme."""
    letters = {"B": "B", "S": "B", "I": "I", "E": "I"}
    parts = [(tag, *split_tag(tag)) for tag in tagger.tags]
    return [f"{letters[letter]}-{label}" if label else tag for tag, letter, label in parts]


def _places(own: Sequence[str], tags: Sequence[str]) -> NDArray[np.float64]:
    """(own tag, tag): 1 where they are the same."""
    return np.array([[mine == tag for tag in tags] for mine in own], np.float64)
