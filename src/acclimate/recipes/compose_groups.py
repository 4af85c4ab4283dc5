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

    side: Literal["source", "target", "both"] = "source"
    """Which text is learnt: what the stage learns (source), what stands beside it (target), or both."""
    average: Literal["word", "sentence"] = "word"
    """Whether the loss is averaged over words or over sentences."""


class TargetTaggingSettings(TaggingSettings):
    """Tags of what is beside."""

    side: Literal["source", "target", "both"] = "target"
    """Which text is learnt: what the stage learns (source), what stands beside it (target), or both."""


class MaskedTaggingSettings(MaskedNoiseSettings, TaggingSettings):
    """Tagging, and once more with words hidden and under noise."""


class NoisyTaggingSettings(MaskedTaggingSettings):
    """The same without hidden words."""

    rate: float = Field(0.0, ge=0, le=1)
    """Share of sentences in which a word is hidden or swapped."""


class VirtualNoiseSettings(Settings):
    """The noise under which tags must not change."""

    radius: RadiusSettings = RadiusSettings()
    """Size of the noise."""
    scope: Scope = "sentence"
    """What the size holds for: the noise of a sentence, of each token, or of the whole batch."""
    by_size: bool = False
    """Multiply radii of words and characters by the square root of how many numbers a sentence has."""
    side: Domain = "target"
    """Which domain's text gets the noise."""


class SentenceMmdSettings(Settings):
    """How the discrepancy of sentences is measured."""

    unbiased: bool = False
    """Leave a point's likeness to itself out."""
    scale_free: bool = False
    """Features that shrink to a point win nothing."""


class WordMmdSettings(SentenceMmdSettings):
    """How the discrepancy of words of each tag is measured."""

    mu: float | dict[str, float] = 0.25
    """Weight of a tag: one for all, or by tag."""
    most_words: int = Field(256, ge=1)
    """Words of one tag and domain that are looked at in a batch, at most."""
    floor: float | None = Field(None, ge=0)
    """A discrepancy below this has no gradient."""


class DistillationSettings(Settings):
    """What teacher and student compare, and on which text."""

    chances: Chances = "marginals"
    """What teacher and student compare: marginals, or the softmax of each word's own scores."""
    side: Domain = "source"
    """Which domain's text the teacher reads."""


class MeanTeacherTermSettings(MeanTeacherSettings):
    """Mean Teacher as PDALN has it."""

    chances: Chances = "marginals"
    """What teacher and student compare: marginals, or the softmax of each word's own scores."""


class MaskedWordsSettings(MaskingSettings):
    """Guessing hidden words beside the other objectives."""

    masking: str = "random"
    """Which words to hide; the adversary usually wants a stage of its own."""
    side: Domain = "target"
    """Which domain's text is read."""


class DiscriminatorTermSettings(DiscriminatorSettings):
    """The discriminator, which is there."""

    discriminator: Literal["grad", "plain"] = "grad"
    """grad weights sentences by how hard they are to place; plain weights all alike."""


def sides_of(settings: Settings) -> set[str]:
    """Which text an objective reads, as far as its settings say."""
    side = getattr(settings, "side", "source")
    return {"source", "target"} if side == "both" else {side}
