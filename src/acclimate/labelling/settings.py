"""The settings of a session: what is held back, what comes first, and how it is learnt."""

from __future__ import annotations

from pydantic import Field

from acclimate.methods.acquisition.settings import AcquisitionSettings
from acclimate.settings import Seed, Settings


class LearningSettings(Settings):
    """How the tagger learns while somebody labels."""

    every: int = Field(20, ge=1)
    """Number of answers after which the tagger learns again."""
    updates: int = Field(60, ge=1)
    """Number of updates in a round."""
    share: float = Field(0.5, gt=0, le=1)
    """How far the weights go from where a round begins to where its updates lead, against forgetting."""
    words_per_batch: int = Field(512, ge=1)
    """Number of words in a batch."""


class SessionSettings(Settings):
    """One session of labelling."""

    seed: Seed = 1
    """Random seed: of the sentences held back, of the sample, and of learning."""
    held_back: float = Field(0.2, ge=0, lt=1)
    """Share of the sentences that are never learnt: a random part, for an honest F1."""
    acquisition: AcquisitionSettings = AcquisitionSettings()
    """Which sentences come first."""
    learning: LearningSettings = LearningSettings()
    """How the tagger learns while somebody labels."""
