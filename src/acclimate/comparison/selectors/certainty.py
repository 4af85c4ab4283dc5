"""Selectors that ask how sure a tagger is of its tags on target text."""

from __future__ import annotations

import torch
from torch import Tensor

from acclimate.comparison.selectors.material import Material
from acclimate.data.corpus import Corpus
from acclimate.inference.predict import answers
from acclimate.model.tagger import Tagger


def word_probabilities(tagger: Tagger, text: Corpus) -> Tensor:
    """The probability of every tag at every word under the head, sentence after sentence, (word, tag)."""
    rows = dict(answers(tagger, text, lambda view: view.marginals.double()))
    return torch.cat([rows[number] for number in sorted(rows)]) if rows else torch.zeros(0, len(tagger.tags))


def sample_probabilities(tagger: Tagger, material: Material) -> Tensor:
    """Those of the target's sample."""
    return material.once("probabilities", tagger, lambda: word_probabilities(tagger, material.sample))


def entropies(probabilities: Tensor) -> Tensor:
    """In nats, over the last dimension. Rounding may leave a little more or less than 1 in all."""
    shares = probabilities / probabilities.sum(-1, keepdim=True).clamp_min(1e-300)
    found: Tensor = torch.special.entr(shares).sum(-1)
    return found


class MeanEntropy:
    """Minus the mean entropy of a word's tag, in nats (Morerio et al. 2018).

    Favours taggers that are sure of themselves. Fails where sureness is what a recipe trains: self-training and entropy
    losses lower it whether they are right or wrong, and a tagger that finds no entity anywhere is the surest of all.
    """

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        probabilities = sample_probabilities(tagger, material)
        return -float(entropies(probabilities).mean()) if len(probabilities) else None


class InformationMaximisation:
    """The entropy of the mean prediction minus the mean entropy (Bridle et al. 1991): sure word by word, and varied in
    all. It is the mutual information of word and tag.

    Favours taggers that use many tags with confidence, and is not taken in by one that says O everywhere. Fails where
    false alarms are many: entities that are none count as variety, too.
    """

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        probabilities = sample_probabilities(tagger, material)
        if not len(probabilities):
            return None
        return float(entropies(probabilities.mean(0)) - entropies(probabilities).mean())
