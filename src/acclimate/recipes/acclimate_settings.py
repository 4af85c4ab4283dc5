"""What can be set about `acclimate`: which parts there are, and how much each counts."""

from __future__ import annotations

from pydantic import Field

from acclimate.recipes.adversarial_masking import AdversarialMaskingSettings
from acclimate.recipes.mat import MaskedNoiseSettings
from acclimate.recipes.pdaln_settings import AnchorSettings
from acclimate.settings import Settings

MASKING = "mix-adversarial"  # of domain tuning


class TuningSettings(AdversarialMaskingSettings):
    """Domain tuning, with the masking that is best as far as is known."""

    masking: str = MASKING
    """Which words to hide; see docs/domain-tuning.md."""
    updates: int | None = Field(300, ge=1)
    """Updates of the tuning; null: 2,000, or fewer that read the target's text 20 times."""


class AcclimateSettings(Settings):
    """Which parts there are, and how much each counts."""

    tuning: bool | None = None
    """Tune the encoder first; null: where it is a masked language model."""
    alignment: bool = False
    """Make sentences of both domains alike, and words of one tag where there are target labels."""
    contrast: bool = False
    """Learn to tell sentences from one another, beside edited twins."""
    noise: bool = True
    """Learn under adversarial noise with words hidden (MAT)."""
    anchors: bool | None = None
    """In the rounds, learn sentences with entities of the other domain; null: with target labels, as a rule."""
    self_labels: bool = False
    """In the rounds, believe the tagger where it is surest."""
    distillation: bool | None = None
    """In the rounds, agree with the last round's tagger on anchors, or else on target text; null: on anchors alone."""
    rounds: int = Field(3, ge=0)
    """How many rounds."""
    share: float = Field(0.25, gt=0)
    """Share of the usual number of updates, per round."""
    keep: float = Field(0.5, gt=0, le=1)
    """Share of target sentences believed, surest first."""
    alpha: float = Field(0.1, gt=0)
    """Weight of making sentences alike."""
    beta: float = Field(0.1, gt=0)
    """Weight of making words of one tag alike."""
    believe: float = Field(0.5, gt=0)
    """Weight of the tagger's own labels."""
    gamma: float = Field(0.5, gt=0)
    """Weight of the teacher on target text, beside the tags."""
    teacher: float = Field(0.98, gt=0, lt=1)
    """Weight of the teacher on anchors; all else has what is left, as in PDALN."""
    round_epochs: float = Field(4.0, gt=0)
    """Passes over the anchors in a round with a teacher."""
    round_rate: float = Field(0.25, gt=0)
    """Learning rate of a round, as a share of the run's."""
    apart: bool | None = None
    """In the end, give labelled target sentences a head of their own; null: where target sentences judge that."""
    apart_share: float = Field(0.5, gt=0)
    """Share of the usual number of updates in that stage."""
    finish: bool = False
    """Learn the source alone, and the labelled target sentences alone when all else is over."""
    finish_updates: int = Field(100, ge=1)
    """Updates of that last stage, or as many as two passes over the sentences."""
    finish_rate: float = Field(0.5, gt=0)
    """Learning rate of that last stage, as a share of the run's."""
    finish_noise: bool = True
    """Learn under noise in that last stage, where there is any."""
    domain_tuning: TuningSettings = TuningSettings()
    """How the encoder is tuned."""
    masked_noise: MaskedNoiseSettings = MaskedNoiseSettings()
    """The adversarial noise and the words that are hidden."""
    anchor: AnchorSettings = AnchorSettings()
    """How anchors are made."""
