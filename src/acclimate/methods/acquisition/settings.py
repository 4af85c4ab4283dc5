"""The settings of acquisitions, without torch: commands that only read them do not wait for it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from acclimate.settings import Settings

AcquisitionName = Literal[
    "random",
    "entities",
    "uncertainty",
    "bald",
    "committee",
    "rare-types",
    "fluctuation",
    "density",
    "typical",
]
"""Those of the catalogue."""


class AcquisitionSettings(Settings):
    """Which sentences come first."""

    name: AcquisitionName = "uncertainty"
    """What makes a sentence worth labelling; the first batch goes by entities, whatever stands here but random."""
    sample: int = Field(2000, ge=1)
    """Number of sentences that are scored in a round, drawn at random from those that nobody has labelled."""
    diversity: float = Field(0.3, ge=0, le=1)
    """How much being unlike the sentences taken before counts beside the score: from 0, not at all, to 1, alone."""
    passes: int = Field(10, ge=2)
    """Number of answers with dropout that bald compares."""
    dropout: float = Field(0.2, gt=0, lt=1)
    """Share of the features that bald drops."""
