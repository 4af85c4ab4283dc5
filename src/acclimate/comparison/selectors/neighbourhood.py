"""A selector that asks how closely target words lie together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from acclimate.analysis.features import feature_points
from acclimate.comparison.selectors.certainty import entropies, sample_probabilities
from acclimate.comparison.selectors.material import Material
from acclimate.model.tagger import Tagger

MOST_WORDS = 1000


@dataclass(frozen=True)
class NeighbourhoodDensity:
    """Soft neighbourhood density (Saito et al. 2021): each word's similarities to all others are made a distribution,
    and its entropy, averaged over words, says how many close neighbours a word has.

    Of predictions, as published, or of features. Favours taggers under which the target falls into dense clusters.
    Fails where there is one cluster only: a tagger that says O everywhere has the densest neighbourhood of all.
    """

    of: Literal["predictions", "features"] = "predictions"
    temperature: float = 0.05

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        text = material.sample
        if text.word_count < 3:
            return None  # one neighbour leaves nothing to compare
        if self.of == "features":
            points = torch.from_numpy(feature_points(tagger, {"target": text}, most=MOST_WORDS).points).double()
        else:
            points = sample_probabilities(tagger, material)
            order = torch.randperm(len(points), generator=torch.Generator().manual_seed(0))
            points = points[order[:MOST_WORDS].sort().values]
        return density(points, self.temperature)


def density(points: Tensor, temperature: float) -> float:
    """The mean entropy of the softmax of cosines over `temperature`, a point's own left out. (point, size)"""
    units = torch.nn.functional.normalize(points, dim=1)
    similar = units @ units.T / temperature  # (point, point)
    others = ~torch.eye(len(points), dtype=torch.bool)
    rows = similar[others].view(len(points), len(points) - 1)
    return float(entropies(rows.softmax(1)).mean())
