"""Selectors that ask how alike source and target are as a tagger sees them."""

from __future__ import annotations

import torch

from acclimate.analysis.features import FeaturePoints, domain_separability, feature_points
from acclimate.comparison.selectors.material import Material
from acclimate.methods.alignment.mmd import squared_mmd
from acclimate.model.tagger import Tagger

MOST_WORDS = 400


def _points(tagger: Tagger, material: Material) -> FeaturePoints | None:
    """Features of as many random words of both domains; None where one of them has none."""
    source, target = material.source, material.sample
    if source is None or not source.word_count or not target.word_count:
        return None
    corpora = {"source": source, "target": target}
    return material.once("both domains", tagger, lambda: feature_points(tagger, corpora, most=MOST_WORDS))


class MeanDiscrepancy:
    """Minus the squared maximum mean discrepancy of word features, without its bias (Gretton et al. 2012).

    Favours taggers in whose features the domains look alike. Fails where alike is all they are: features that tell
    nothing apart have no discrepancy either, and it is the very thing that alignment recipes make small.
    """

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        found = _points(tagger, material)
        if found is None:
            return None
        source, target = (torch.from_numpy(found.of(name).points).double() for name in ("source", "target"))
        return -float(squared_mmd(source, target, unbiased=True))


class ProxyADistance:
    """Minus the proxy A-distance: how well a linear classifier tells the domains apart (Ben-David et al. 2010).

    Favours and fails as the discrepancy does. Large pre-trained encoders always let the domains be told apart: then all
    runs have nearly the same value, and it says little.
    """

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        found = _points(tagger, material)
        return None if found is None else -domain_separability(found).a_distance
