"""All pictures that the masks of some runs allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acclimate.analysis.mask_statistics import MaskStatistics, density_curves, mean_part_of_speech_shares
from acclimate.analysis.plots.bars import draw_parts_of_speech
from acclimate.analysis.plots.lines import draw_density_ratio
from acclimate.data.problems import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def mask_pictures(statistics: Sequence[MaskStatistics]) -> dict[str, Figure]:
    """Pictures under the names of their files. Where there are mixtures, a second one shows their parts."""
    pictures = {}
    for split in (False, True) if any(run.by for run in statistics) else (False,):
        behind = "-in-parts" if split else ""
        if any(run.everything.density_ratio is not None for run in statistics):
            pictures[f"density-ratio{behind}"] = draw_density_ratio(density_curves(statistics, split=split))
        shares = mean_part_of_speech_shares(statistics, split=split)
        if shares:
            pictures[f"parts-of-speech{behind}"] = draw_parts_of_speech(shares)
    if not pictures:
        raise InputError("there is nothing to draw: give a source and a target, or a part-of-speech tagger.")
    return pictures
