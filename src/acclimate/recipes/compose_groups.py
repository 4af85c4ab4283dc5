"""The settings of each objective that can be composed: its own group, wherever a recipe has one already."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from acclimate.methods.distillation import Chances
from acclimate.methods.perturbation.noise import Scope
from acclimate.recipes.datnet import DiscriminatorSettings
from acclimate.recipes.domain_tuning import MaskingSettings
from acclimate.recipes.mat import MaskedNoiseSettings, RadiusSettings
from acclimate.recipes.pdaln_settings import MeanTeacherSettings
from acclimate.settings import Settings

Domain = Literal["source", "target"]


class TaggingSettings(Settings):
    """Whose tags are learnt, and what the loss is averaged over."""

    side: Literal["source", "target", "both"] = "source"  # what the stage learns, what is beside it, or each of them
    average: Literal["word", "sentence"] = "word"


class TargetTaggingSettings(TaggingSettings):
    """Tags of what is beside."""

    side: Literal["source", "target", "both"] = "target"


class MaskedTaggingSettings(MaskedNoiseSettings, TaggingSettings):
    """Tagging, and once more with words hidden and under noise."""


class NoisyTaggingSettings(MaskedTaggingSettings):
    """The same without hidden words."""

    rate: float = Field(0.0, ge=0, le=1)


class VirtualNoiseSettings(Settings):
    """The noise under which tags must not change."""

    radius: RadiusSettings = RadiusSettings()
    scope: Scope = "sentence"
    by_size: bool = False  # radii of words and letters times the square root of how many numbers a sentence has
    side: Domain = "target"


class SentenceMmdSettings(Settings):
    """How the discrepancy of sentences is measured."""

    unbiased: bool = False  # leave a point's likeness to itself out
    scale_free: bool = False  # nothing is won by features that shrink to a point


class WordMmdSettings(SentenceMmdSettings):
    """How the discrepancy of words of each tag is measured."""

    mu: float | dict[str, float] = 0.25  # weight of a tag: one for all, or by tag
    most_words: int = Field(256, ge=1)  # of one tag and domain, that are looked at in a batch
    floor: float | None = Field(None, ge=0)  # a discrepancy below has no gradient


class DistillationSettings(Settings):
    """What teacher and student compare, and on which text."""

    chances: Chances = "marginals"  # or softmax, of each word's own scores
    side: Domain = "source"


class MeanTeacherTermSettings(MeanTeacherSettings):
    """Mean Teacher as PDALN has it."""

    chances: Chances = "marginals"


class MaskedWordsSettings(MaskingSettings):
    """Guessing hidden words beside the other objectives."""

    masking: str = "random"  # the adversary wants a stage of its own as a rule; it may be had here, too
    side: Domain = "target"


class DiscriminatorTermSettings(DiscriminatorSettings):
    """The discriminator, which is there."""

    discriminator: Literal["grad", "plain"] = "grad"


def sides_of(settings: Settings) -> set[str]:
    """Which text an objective reads, as far as its settings say."""
    side = getattr(settings, "side", "source")
    return {"source", "target"} if side == "both" else {side}
