"""How far apart the domains are as a tagger sees them, measured on the words that a run has kept."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from acclimate.analysis.features import FeaturePoints, Separability, domain_separability, project
from acclimate.data.problems import InputError
from acclimate.methods.alignment.mmd import squared_mmd
from acclimate.runs.evidence import SOURCE, TARGET


@dataclass(frozen=True)
class Measures:
    """`mmd` is squared and unbiased, so that it may fall a little below 0; `mmd_chance` is that between two halves of
    the source. None where there was too little text."""

    mmd: float | None
    mmd_chance: float | None
    separability: Separability | None


def measure(points: FeaturePoints) -> Measures:
    if set(points.names) != {SOURCE, TARGET}:
        return Measures(None, None, None)
    source, target = (torch.from_numpy(points.of(name).points).double() for name in (SOURCE, TARGET))
    mmd, chance = None, None
    if len(source) >= 4 and len(target) >= 2:
        mmd = float(squared_mmd(source, target, unbiased=True))
        chance = float(squared_mmd(source[::2], source[1::2], unbiased=True))
    try:
        separability = domain_separability(points)
    except InputError:
        separability = None
    return Measures(mmd, chance, separability)


def map_of(points: FeaturePoints) -> list[tuple[float, float]]:
    """Places on a flat map, one for each point."""
    return [(float(x), float(y)) for x, y in project(points.points)]
