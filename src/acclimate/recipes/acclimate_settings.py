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
    updates: int | None = Field(300, ge=1)


class AcclimateSettings(Settings):
    """Which parts there are, and how much each counts."""

    tuning: bool | None = None  # tune the encoder first; null: where it is a masked language model
    alignment: bool = False  # make sentences of both domains alike, and words of one tag where there are target labels
    contrast: bool = False  # tell sentences from one another, beside edited twins
    noise: bool = True  # learn under adversarial noise with words hidden (MAT)
    # in the rounds, learn sentences with entities of the other domain; null: where target sentences are labelled, and
    # are not learnt alone in the end
    anchors: bool | None = None
    self_labels: bool = False  # in the rounds, believe the tagger where it is surest
    # in the rounds, agree with the last round's tagger: on anchors, or else on target text; null: on anchors alone
    distillation: bool | None = None
    rounds: int = Field(3, ge=0)
    share: float = Field(0.25, gt=0)  # of the usual number of updates, per round
    keep: float = Field(0.5, gt=0, le=1)  # share of target sentences believed, surest first
    alpha: float = Field(0.1, gt=0)  # weight of sentences made alike
    beta: float = Field(0.1, gt=0)  # of words of each tag made alike
    believe: float = Field(0.5, gt=0)  # of the tagger's own labels
    gamma: float = Field(0.5, gt=0)  # of the teacher on target text, beside the tags
    teacher: float = Field(0.98, gt=0, lt=1)  # of the teacher on anchors; all else has what is left, as in PDALN
    round_epochs: float = Field(4.0, gt=0)  # passes over the anchors in a round with a teacher
    round_rate: float = Field(0.25, gt=0)  # learning rate of any round, as a share of the run's
    # when all else is over, the labelled target sentences have the tagger's head for themselves, the source another;
    # null: where there are some, others of the target's choose the state, and nothing comes after it
    apart: bool | None = None
    apart_share: float = Field(0.5, gt=0)  # of the usual number of updates
    finish: bool = False  # learn the source alone, and the labelled target sentences alone when all else is over
    finish_updates: int = Field(100, ge=1)  # or as many as two passes over them
    finish_rate: float = Field(0.5, gt=0)  # learning rate, as a share of the run's
    finish_noise: bool = True  # under noise, where there is any
    domain_tuning: TuningSettings = TuningSettings()
    masked_noise: MaskedNoiseSettings = MaskedNoiseSettings()
    anchor: AnchorSettings = AnchorSettings()
