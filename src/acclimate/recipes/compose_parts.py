"""The parts of a composition by the names people type: objectives, and the settings of a stage.

A new objective is a group of settings, a function and one line in `OBJECTIVES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus
from acclimate.methods.alignment.domain_discriminator import DiscriminatorDiagnostics
from acclimate.methods.alignment.mmd import SentenceDiscrepancy, WordDiscrepancy
from acclimate.methods.masked_words import PolicyLoss
from acclimate.methods.objective import Objective, Tagging, TaggingOfAll
from acclimate.methods.perturbation.virtual_adversarial import VirtualAdversarialTraining
from acclimate.methods.teachers import Distillation, MeanTeacher, TagProbabilities, frozen_copy, rising
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import mlm_head_for
from acclimate.model.tagger import Tagger
from acclimate.recipes.datnet import DiscriminatorSettings, discriminator_for, held_out
from acclimate.recipes.domain_tuning import AdversarialMaskingSettings, MaskingSettings, masked_words, policy_for
from acclimate.recipes.mat import MaskedNoiseSettings, masked_adversarial
from acclimate.recipes.mslm import MslmSettings
from acclimate.recipes.pdaln import (
    AnchorSettings,
    ContrastSettings,
    MeanTeacherSettings,
    VirtualNoiseSettings,
    contrast,
    edit_for,
)
from acclimate.recipes.recipe import Plan
from acclimate.settings import Settings, complete
from acclimate.spelling import did_you_mean
from acclimate.training.settings import Schedule
from acclimate.training.stage import Watch

Domain = Literal["source", "target"]
TextName = Literal["source", "target", "target-labelled", "pseudo-labelled", "anchors"]


class TaggingSettings(Settings):
    """Whose tags are learnt, and what the loss is averaged over."""

    side: Literal["source", "target", "both"] = "source"
    """Part of the batch to train on: the stage's `learns` texts (source), its `beside` texts (target), or both."""
    average: Literal["word", "sentence"] = "word"
    """Average the loss over words or over sentences."""


class TargetTaggingSettings(TaggingSettings):
    """Tagging of the `beside` texts."""

    side: Literal["source", "target", "both"] = "target"
    """Part of the batch to train on: the stage's `learns` texts (source), its `beside` texts (target), or both."""


class MaskedTaggingSettings(MaskedNoiseSettings, TaggingSettings):
    """Tagging, and once more with words hidden and under noise."""


class NoisyTaggingSettings(MaskedTaggingSettings):
    """The same without hidden words."""

    rate: float = Field(0.0, ge=0, le=1)
    """Share of sentences in which one word is hidden or replaced."""


class VirtualTermSettings(VirtualNoiseSettings):
    """The noise under which tags must not change, and on which text."""

    side: Domain = "target"
    """Part of the batch that gets the noise: source (`learns`) or target (`beside`)."""


class SentenceMmdSettings(Settings):
    """How the discrepancy of sentences is measured."""

    unbiased: bool = False
    """Use the unbiased MMD estimator, without the kernel value of a point with itself."""


class WordMmdSettings(SentenceMmdSettings):
    """How the discrepancy of words of each tag is measured."""

    mu: float | dict[str, float] = 0.25
    """Weight of each tag's discrepancy: one number, or a number per tag (0.25 for tags not listed)."""
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
    """Predicting hidden words beside the other objectives."""

    masking: str = "random"
    """Masking policy that chooses the hidden words; adversarial usually works better in a stage of its own."""
    side: Domain = "target"
    """Part of the batch whose words are hidden: source (`learns`) or target (`beside`)."""


class DiscriminatorTermSettings(DiscriminatorSettings):
    """A domain discriminator, which cannot be switched off here."""

    discriminator: Literal["grad", "plain"] = "grad"
    """grad: give more weight to sentences whose domain is hard to predict; plain: weight all sentences equally."""


def sides_of(settings: Settings) -> set[str]:
    """Which halves of the batch an objective reads, as far as its settings say."""
    side = getattr(settings, "side", "source")
    return {"source", "target"} if side == "both" else {side}


Need = Literal["beside", "labels beside", "text beside", "language model", "teacher"]
"""What an objective needs: `beside` texts, labels or bare text in them, a masked language model, an earlier stage that
learns tags."""


@dataclass(frozen=True)
class StageContext:
    """What an objective is built for. `number` is the stage's."""

    tagger: Tagger
    plan: Plan
    number: int
    text: Corpus
    beside: Corpus
    updates: int


@dataclass(frozen=True)
class Built:
    """An objective (named "") and its companions by suffix, the schedule of its weight, and what to watch."""

    terms: Mapping[str, Objective]
    schedule: Schedule | None = None
    watches: tuple[Watch, ...] = ()


@dataclass(frozen=True)
class ObjectiveKind:
    """How an objective is built from its settings, what it needs, and whether it trains the tags."""

    summary: str
    settings: type[Settings]
    build: Callable[[StageContext, Any], Objective | Built]
    needs: frozenset[Need] = field(default_factory=frozenset)
    learns_tags: bool = False


def tagging(stage: StageContext, settings: TaggingSettings) -> Objective:
    return TaggingOfAll(settings.average) if settings.side == "both" else Tagging(settings.side, settings.average)


def masked_tagging(stage: StageContext, settings: MaskedTaggingSettings) -> Objective:
    radii = settings.radius.model_dump()
    return masked_adversarial(tagging(stage, settings), {SOURCE: radii, TARGET: radii}, stage.text, settings)


def discriminator(stage: StageContext, settings: DiscriminatorTermSettings) -> Built:
    made = discriminator_for(stage.tagger, settings, stage.updates)
    assert made is not None  # these settings do not allow "none"
    return Built({"": made}, watches=(DiscriminatorDiagnostics(made, held_out(stage.plan, stage.beside)),))


def contrast_of(stage: StageContext, settings: ContrastSettings) -> Objective:
    plan = replace(stage.plan, options=settings)
    return contrast(stage.tagger, plan, edit_for(stage.tagger, plan), stage.number)


def mean_teacher(stage: StageContext, settings: MeanTeacherTermSettings) -> Built:
    warm_up = min(settings.warm_up, stage.updates)
    teacher = MeanTeacher(stage.tagger, settings.decay, settings.later, warm_up, settings.probabilities)
    return Built({"": teacher}, lambda update: settings.weight * rising(update, warm_up))


def hidden_words(stage: StageContext, settings: MaskedWordsSettings) -> Built:
    encoder = stage.tagger.encoder
    assert isinstance(encoder, Transformer)
    policy = policy_for(encoder, stage.plan, settings.masking, settings.policy)
    objective = masked_words(encoder, mlm_head_for(encoder), policy, settings, settings.samples)
    objective.domain = settings.side
    learns = any(True for _ in policy.parameters())
    return Built({"": objective, **({"-policy": PolicyLoss(policy)} if learns else {})})


_BESIDE: frozenset[Need] = frozenset({"beside"})

OBJECTIVES: dict[str, ObjectiveKind] = {
    "tagging": ObjectiveKind("learn the tags", TaggingSettings, tagging, learns_tags=True),
    "target-tagging": ObjectiveKind(
        "learn the tags of the `beside` texts", TargetTaggingSettings, tagging, learns_tags=True
    ),
    "adversarial": ObjectiveKind(
        "tagging, also under adversarial noise (AT)", NoisyTaggingSettings, masked_tagging, learns_tags=True
    ),
    "mat": ObjectiveKind(
        "tagging, also under noise and with hidden words (MAT)", MaskedTaggingSettings, masked_tagging, learns_tags=True
    ),
    "virtual-adversarial": ObjectiveKind(
        "tags must not change under noise (VAT)",
        VirtualTermSettings,
        lambda stage, own: VirtualAdversarialTraining(own.step, own.trial, [own.side]),
    ),
    "discriminator": ObjectiveKind(
        "domain discriminator with reversed gradient (GRAD)", DiscriminatorTermSettings, discriminator, _BESIDE
    ),
    "sentence-mmd": ObjectiveKind(
        "sentences of both domains made alike",
        SentenceMmdSettings,
        lambda stage, own: SentenceDiscrepancy(unbiased=own.unbiased),
        _BESIDE,
    ),
    "word-mmd": ObjectiveKind(
        "words of one tag made alike in both domains",
        WordMmdSettings,
        lambda stage, own: WordDiscrepancy(own.mu, unbiased=own.unbiased, floor=own.floor),
        frozenset({"labels beside"}),
    ),
    "contrast": ObjectiveKind("sentences told from one another, beside edited twins", ContrastSettings, contrast_of),
    "distillation": ObjectiveKind(
        "agree with the tagger of the stage before",
        DistillationSettings,
        lambda stage, own: Distillation(frozen_copy(stage.tagger), own.probabilities, own.side),
        frozenset({"teacher"}),
    ),
    "mean-teacher": ObjectiveKind(
        "agree with a moving average of the weights", MeanTeacherTermSettings, mean_teacher, frozenset({"text beside"})
    ),
    "masked-words": ObjectiveKind(
        "predict hidden words, under any masking", MaskedWordsSettings, hidden_words, frozenset({"language model"})
    ),
}


class Term(Settings):
    """One objective of a stage. A bare number in its place is the weight."""

    weight: float = Field(1.0, gt=0)
    """Weight of the objective in the total loss."""
    settings: Any = None
    """Settings of the objective; which ones there are depends on its name; null: its defaults."""


class StageSettings(Settings):
    """One stage: objectives on text, or else domain tuning, or else MSLM's training on hidden entities."""

    name: str | None = Field(None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")
    """Name of the stage; null: stage-1, stage-2 and so on."""
    objectives: dict[str, Term] = Field(default_factory=dict)
    """Training objectives of the stage, keyed by name, each with its weight."""
    learns: tuple[TextName, ...] | None = None
    """Texts that form the source half of every batch; null: the source, with mslm also the labelled target."""
    beside: tuple[TextName, ...] | None = None
    """Texts that form the target half of every batch; null: the target text, if an objective needs it."""
    separate_heads: bool = False
    """Train the `learns` texts with a temporary head of their own; the tagger's head learns from `beside` only."""
    domain_tuning: AdversarialMaskingSettings | None = None
    """Settings that make this a domain-tuning stage of the encoder; null: not such a stage."""
    mslm: MslmSettings | None = None
    """Settings that make this a stage of MSLM, training with hidden entities; null: not such a stage."""
    updates: int | None = Field(None, ge=1)
    """Number of updates; null: use epochs or share."""
    epochs: float | None = Field(None, gt=0)
    """Number of passes over the `learns` texts, limited by training.updates; null: use updates or share."""
    share: float = Field(1.0, gt=0)
    """Length as a share of the run's usual number of updates, if neither updates nor epochs is set."""
    learning_rate: float | None = Field(None, gt=0)
    """Learning rate of the stage; null: the run's learning rate."""
    rounds: int = Field(1, ge=1)
    """Number of times to repeat the stage, each time with a new teacher and newly created texts."""
    keep_best: bool = False
    """Undo a round that does not improve the selector's score; no other round follows it."""
    evaluations: int | None = Field(None, ge=1)
    """Minimum number of evaluations by the selector in each round; null: as often as in the rest of the run."""
    to_the_end: bool = False
    """Keep the last state of the stage and ignore the selector."""
    keep: float = Field(0.5, gt=0, le=1)
    """For pseudo-labelled text: share of target sentences to train on, the most confident first."""
    anchors: AnchorSettings = AnchorSettings()
    """Settings for creating the text `anchors`: sentences with entities from the other domain."""

    @field_validator("objectives", mode="before")
    @classmethod
    def _by_name(cls, given: Any) -> Any:
        """Accept names alone, names with a weight, or names with weight and settings."""
        if isinstance(given, (list, tuple)):
            given = dict.fromkeys(given)
        if not isinstance(given, Mapping):
            return given
        return {known(str(name), OBJECTIVES, "objective"): _term(str(name), value) for name, value in given.items()}

    @model_validator(mode="after")
    def _one_kind(self) -> StageSettings:
        kinds = [bool(self.objectives), self.domain_tuning is not None, self.mslm is not None]
        if sum(kinds) != 1:
            raise ValueError("a stage has objectives, or domain_tuning, or mslm: one of them")
        if self.learns == ():
            raise ValueError("a stage learns from something: name source, for example, in learns")
        if self.updates is not None and self.epochs is not None:
            raise ValueError("a stage has updates or epochs, not both")
        if self.to_the_end and (self.keep_best or self.evaluations is not None):
            raise ValueError("with to_the_end nobody chooses a state: leave out keep_best and evaluations")
        return self


def round_names(stage: StageSettings) -> list[str]:
    """The stage's name, or those of its rounds."""
    name = stage.name or "stage"
    return [name] if stage.rounds == 1 else [f"{name}-{number}" for number in range(1, stage.rounds + 1)]


def known(name: str, names: Iterable[str], what: str) -> str:
    """The name, if there is such a thing."""
    names = list(names)
    if name in names:
        return name
    raise ValueError(f"unknown {what} {name!r}.{did_you_mean(name, names)} Known: {', '.join(names)}")


def _term(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Term):
        value = value.model_dump()
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        value = {} if value is None else {"weight": value}
    if not isinstance(value, Mapping):
        raise ValueError(f"objective {name!r}: a weight, or weight and settings, not {value!r}")
    group = OBJECTIVES[name].settings
    settings = value.get("settings") or {}
    if not isinstance(settings, group):
        if not isinstance(settings, Mapping):
            raise ValueError(f"objective {name!r}: its settings are a mapping, not {settings!r}")
        settings = complete(group, settings, where=f"objective {name!r}")
    return {**value, "settings": settings}


class ComposeSettings(Settings):
    """The stages, one after the other."""

    stages: tuple[StageSettings, ...] = (
        StageSettings.model_validate({"name": "learn", "objectives": ["tagging"]}),
        StageSettings.model_validate(
            {
                "name": "teach",
                "objectives": {"tagging": 1, "distillation": {"weight": 0.5, "settings": {"side": "target"}}},
                "share": 0.25,
                "rounds": 2,
            }
        ),
    )
    """Training stages, in the order in which they run."""

    @field_validator("stages")
    @classmethod
    def _named(cls, stages: tuple[StageSettings, ...]) -> tuple[StageSettings, ...]:
        """Give every stage a name of its own: its folder is called by it."""
        if not stages:
            raise ValueError("a composition has one stage at least")
        named = [
            stage if stage.name else stage.model_copy(update={"name": f"stage-{number}"})
            for number, stage in enumerate(stages, start=1)
        ]
        names = [name for stage in named for name in round_names(stage)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two stages are called {twice!r}")
        return tuple(named)
