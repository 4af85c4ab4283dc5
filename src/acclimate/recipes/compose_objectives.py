"""The objectives that can be composed, by the names people type, and the settings of each.

To add one is to add a group of settings, a function and one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import Field

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus
from acclimate.methods.alignment.domain_discriminator import DiscriminatorDiagnostics
from acclimate.methods.alignment.mmd import MEDIANS, SCALE_FREE, Kernel, SentenceDiscrepancy, WordDiscrepancy
from acclimate.methods.masked_words import PolicyLoss
from acclimate.methods.objective import Objective
from acclimate.methods.perturbation.adversarial import Scope
from acclimate.methods.perturbation.virtual_adversarial import VirtualAdversarialTraining
from acclimate.methods.tagging import Tagging, TaggingOfAll
from acclimate.methods.teachers import Distillation, MeanTeacher, TagProbabilities, frozen_copy, rising
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import mlm_head_for
from acclimate.model.tagger import Tagger
from acclimate.recipes.datnet import DiscriminatorSettings, discriminator_for, held_out
from acclimate.recipes.domain_tuning import MaskingSettings, masked_words, policy_for
from acclimate.recipes.mat import MaskedNoiseSettings, RadiusSettings, masked_adversarial
from acclimate.recipes.pdaln import ContrastSettings, MeanTeacherSettings, contrast, edit_for
from acclimate.recipes.recipe import Plan
from acclimate.settings import Settings
from acclimate.training.settings import Schedule
from acclimate.training.stage import Watch

Domain = Literal["source", "target"]


class TaggingSettings(Settings):
    """Whose tags are learnt, and what the loss is averaged over."""

    side: Literal["source", "target", "both"] = "source"
    """Part of the batch to train on: the stage's `learns` texts (source), its `beside` texts (target), or both."""
    average: Literal["word", "sentence"] = "word"
    """Average the loss over words or over sentences."""


class TargetTaggingSettings(TaggingSettings):
    """Tags of what is beside."""

    side: Literal["source", "target", "both"] = "target"
    """Part of the batch to train on: the stage's `learns` texts (source), its `beside` texts (target), or both."""


class MaskedTaggingSettings(MaskedNoiseSettings, TaggingSettings):
    """Tagging, and once more with words hidden and under noise."""


class NoisyTaggingSettings(MaskedTaggingSettings):
    """The same without hidden words."""

    rate: float = Field(0.0, ge=0, le=1)
    """Share of sentences in which one word is hidden or replaced."""


class VirtualNoiseSettings(Settings):
    """The noise under which tags must not change."""

    radius: RadiusSettings = RadiusSettings()
    """Size (norm) of the noise."""
    scope: Scope = "sentence"
    """Unit over which the norm of the noise is taken: sentence, token or the whole batch."""
    by_size: bool = False
    """Multiply the word and character radii by the square root of the number of values the norm is taken over."""
    side: Domain = "target"
    """Part of the batch that gets the noise: source (`learns`) or target (`beside`)."""


class SentenceMmdSettings(Settings):
    """How the discrepancy of sentences is measured."""

    unbiased: bool = False
    """Use the unbiased MMD estimator, without the kernel value of a point with itself."""
    scale_free: bool = False
    """Make the loss independent of the scale of the features, so that shrinking them does not lower it."""


class WordMmdSettings(SentenceMmdSettings):
    """How the discrepancy of words of each tag is measured."""

    mu: float | dict[str, float] = 0.25
    """Weight of each tag's discrepancy: one number, or a number per tag (0.25 for tags not listed)."""
    most_words: int = Field(256, ge=1)
    """Maximum number of words per tag and domain sampled from a batch."""
    floor: float | None = Field(None, ge=0)
    """Ignore the gradient of discrepancies below this value; null: no limit."""


class DistillationSettings(Settings):
    """What teacher and student compare, and on which text."""

    probabilities: TagProbabilities = "marginals"
    """Probabilities that teacher and student compare: CRF marginals, or the softmax of each word's tag scores."""
    side: Domain = "source"
    """Part of the batch to distil on: source (`learns`) or target (`beside`)."""


class MeanTeacherTermSettings(MeanTeacherSettings):
    """Mean Teacher as PDALN has it."""

    probabilities: TagProbabilities = "marginals"
    """Probabilities that teacher and student compare: CRF marginals, or the softmax of each word's tag scores."""


class MaskedWordsSettings(MaskingSettings):
    """Guessing hidden words beside the other objectives."""

    masking: str = "random"
    """Masking policy that chooses the hidden words; adversarial usually works better in a stage of its own."""
    side: Domain = "target"
    """Part of the batch whose words are hidden: source (`learns`) or target (`beside`)."""


class DiscriminatorTermSettings(DiscriminatorSettings):
    """The discriminator, which is there."""

    discriminator: Literal["grad", "plain"] = "grad"
    """grad: give more weight to sentences whose domain is hard to predict; plain: weight all sentences equally."""


def sides_of(settings: Settings) -> set[str]:
    """Which text an objective reads, as far as its settings say."""
    side = getattr(settings, "side", "source")
    return {"source", "target"} if side == "both" else {side}


Need = Literal["beside", "labels beside", "text beside", "language model", "teacher", "noise"]
"""What an objective cannot do without: a second corpus, labels or bare text in it, a masked language model, a tagger
that has learnt tags before, a radius above 0."""


@dataclass(frozen=True)
class StageContext:
    """Where an objective is to work: the tagger, the run's plan, the stage's number, its text, and how long it is."""

    tagger: Tagger
    plan: Plan
    number: int
    text: Corpus
    beside: Corpus
    updates: int


@dataclass(frozen=True)
class Built:
    """An objective, its companions, what its weight is multiplied by along training, and what to watch."""

    terms: Mapping[str, Objective]  # by what is put behind the name; the main one has nothing behind it
    rise: Schedule | None = None
    watches: tuple[Watch, ...] = ()


@dataclass(frozen=True)
class ObjectiveKind:
    """How an objective is built from its settings, and what it needs. `learns_tags`: a tagger can be trained by it."""

    summary: str
    settings: type[Settings]
    build: Callable[[StageContext, Any], Built]
    needs: frozenset[Need] = field(default_factory=frozenset)
    learns_tags: bool = False


def alone(objective: Objective) -> Built:
    return Built({"": objective})


def task_for(settings: TaggingSettings) -> Objective:
    return TaggingOfAll(settings.average) if settings.side == "both" else Tagging(settings.side, settings.average)


def masked_tagging(stage: StageContext, settings: MaskedTaggingSettings) -> Built:
    radii = settings.radius.model_dump()
    return alone(masked_adversarial(task_for(settings), {SOURCE: radii, TARGET: radii}, stage.text, settings))


def virtual(stage: StageContext, settings: VirtualNoiseSettings) -> Built:
    radii, domains = settings.radius.model_dump(), [settings.side]
    return alone(VirtualAdversarialTraining(radii, domains, scope=settings.scope, by_size=settings.by_size))


def discriminator(stage: StageContext, settings: DiscriminatorTermSettings) -> Built:
    made = discriminator_for(stage.tagger, settings, stage.updates)
    assert made is not None  # the check has refused "none"
    return Built({"": made}, watches=(DiscriminatorDiagnostics(made, held_out(stage.plan, stage.beside)),))


def sentence_mmd(stage: StageContext, settings: SentenceMmdSettings) -> Built:
    return alone(SentenceDiscrepancy(kernel_for(settings), settings.unbiased))


def word_mmd(stage: StageContext, settings: WordMmdSettings) -> Built:
    kernel = kernel_for(settings)
    return alone(WordDiscrepancy(settings.mu, kernel, settings.unbiased, settings.most_words, settings.floor))


def kernel_for(settings: SentenceMmdSettings) -> Kernel:
    return SCALE_FREE if settings.scale_free else MEDIANS


def contrast_of(stage: StageContext, settings: ContrastSettings) -> Built:
    plan = replace(stage.plan, options=settings)
    return alone(contrast(stage.tagger, plan, edit_for(stage.tagger, plan), stage.number))


def distillation(stage: StageContext, settings: DistillationSettings) -> Built:
    return alone(Distillation(frozen_copy(stage.tagger), settings.probabilities, settings.side))


def mean_teacher(stage: StageContext, settings: MeanTeacherTermSettings) -> Built:
    warm_up = min(settings.warm_up, stage.updates)
    teacher = MeanTeacher(stage.tagger, settings.decay, settings.later, warm_up, settings.probabilities)
    return Built({"": teacher}, lambda update: settings.weight * rising(update, warm_up))


def hidden_words(stage: StageContext, settings: MaskedWordsSettings) -> Built:
    encoder, plan = stage.tagger.encoder, stage.plan
    assert isinstance(encoder, Transformer)
    policy = policy_for(encoder, plan, settings.masking, settings.policy)
    objective = masked_words(encoder, mlm_head_for(encoder), policy, settings, settings.samples)
    objective.domain = settings.side
    learns = any(True for _ in policy.parameters())
    return Built({"": objective, **({"-policy": PolicyLoss(policy)} if learns else {})})


OBJECTIVES: dict[str, ObjectiveKind] = {
    "tagging": ObjectiveKind(
        "learn the tags", TaggingSettings, lambda stage, settings: alone(task_for(settings)), learns_tags=True
    ),
    "target-tagging": ObjectiveKind(
        "learn the tags of what is beside: labelled target sentences, or pseudo-labelled ones",
        TargetTaggingSettings,
        lambda stage, settings: alone(task_for(settings)),
        learns_tags=True,
    ),
    "adversarial": ObjectiveKind(
        "learn the tags, also under adversarial noise (AT); it contains tagging",
        NoisyTaggingSettings,
        masked_tagging,
        learns_tags=True,
    ),
    "mat": ObjectiveKind(
        "learn the tags, also under adversarial noise and with words hidden (MAT); it contains tagging",
        MaskedTaggingSettings,
        masked_tagging,
        learns_tags=True,
    ),
    "virtual-adversarial": ObjectiveKind(
        "tags must not change under noise (VAT)", VirtualNoiseSettings, virtual, frozenset({"noise"})
    ),
    "discriminator": ObjectiveKind(
        "features must not tell the domains apart (plain, or GRAD), its gradient reversed",
        DiscriminatorTermSettings,
        discriminator,
        frozenset({"beside"}),
    ),
    "sentence-mmd": ObjectiveKind(
        "sentences of both domains made alike", SentenceMmdSettings, sentence_mmd, frozenset({"beside"})
    ),
    "word-mmd": ObjectiveKind(
        "words of one tag made alike in both domains", WordMmdSettings, word_mmd, frozenset({"labels beside"})
    ),
    "contrast": ObjectiveKind("sentences told from one another, beside edited twins", ContrastSettings, contrast_of),
    "distillation": ObjectiveKind(
        "agree with the tagger of the stage before", DistillationSettings, distillation, frozenset({"teacher"})
    ),
    "mean-teacher": ObjectiveKind(
        "agree with the average of one's own past", MeanTeacherTermSettings, mean_teacher, frozenset({"text beside"})
    ),
    "masked-words": ObjectiveKind(
        "guess hidden words, under any masking", MaskedWordsSettings, hidden_words, frozenset({"language model"})
    ),
}
