"""BALD: what the tags would tell about the last layer of the tagger (Gal et al. 2017, "Deep Bayesian active learning").

The features of the words are computed once. Then the layer of scores reads them several times, each time with other
features dropped. Mutual information is the entropy of the mean answer minus the mean of the answers' entropies: it is
high where each answer is sure and they contradict each other. It is summed over words and divided by their number.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from acclimate.methods.acquisition.candidates import Candidates, Scores
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger, answers


def dropout_disagreement(candidates: Candidates) -> Scores:
    tagger = candidates.tagger_at_hand
    assert isinstance(tagger, Tagger), "a compact tagger has no features to drop: see the catalogue"
    dice, settings = torch.Generator(tagger.device).manual_seed(candidates.seed), candidates.settings

    def ask(view: View) -> Tensor:
        passes = [with_dropout(view, settings.dropout, dice).marginals for _ in range(settings.passes)]
        return mutual_information(torch.stack(passes)).unsqueeze(-1)

    scores = np.zeros(len(candidates.sentences))
    for number, row in answers(tagger, candidates.sentences, ask):
        scores[number] = float(row.mean())
    return scores


def with_dropout(view: View, rate: float, dice: torch.Generator) -> View:
    """The same sentences with some of their features dropped, and the others scaled up."""
    kept = torch.rand(view.features.shape, generator=dice, device=view.features.device) >= rate
    dropped = View(view.tagger, view.sentences)
    dropped.features = view.features * kept / (1 - rate)
    return dropped


def mutual_information(passes: Tensor) -> Tensor:
    """Of several answers (pass, ..., tag): the entropy of their mean minus the mean of their entropies, (...)."""
    return _entropy(passes.mean(0)) - _entropy(passes).mean(0)


def _entropy(probabilities: Tensor) -> Tensor:
    return nn.functional.relu(torch.special.entr(probabilities.double()).sum(-1))
