"""Mask-specific losses (MSLM; Abaho and others 2024): a pre-trained encoder learns at once to predict hidden words, to
find entities, and to classify them. Whole entities are hidden, and a few other words. All labelled text is training
data; the tagger is chosen and scored on text without masks."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field, field_validator

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Corpus
from acclimate.methods.masking.catalogue import PolicySettings, known_policy, require_texts
from acclimate.methods.masking.masked_batch import Corruption
from acclimate.methods.mslm import (
    EVEN,
    EntityClassification,
    EntityDetection,
    HiddenWords,
    JointMasking,
    MaskedTagger,
    MaskWeights,
    Normalise,
    ReadBy,
    count_masks,
    mask_weights,
)
from acclimate.methods.objective import Objective
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.heads.entity_heads import EntitySettings, require_entities, types_apart
from acclimate.model.language_model import mlm_head_for
from acclimate.model.tagger import Tagger
from acclimate.recipes.domain_tuning import policy_for, require_language_model
from acclimate.recipes.recipe import Plan, Recipe
from acclimate.settings import Settings, UsageError
from acclimate.training.stage import Stage

JOINT = "joint"


class TermWeights(Settings):
    """What each of the three losses counts; 0 leaves one out."""

    words: float = Field(1.0, ge=0)
    """Weight of the loss for predicting hidden words; 0: off."""
    tags: float = Field(1.0, gt=0)
    """Weight of the loss for detecting entities."""
    types: float = Field(1.0, ge=0)
    """Weight of the loss for classifying entities; 0: off."""


class MslmSettings(Settings):
    """What is hidden, what it weighs, which heads tag, and what each loss counts."""

    elm: float = Field(1.0, ge=0, le=1)
    """Share of the entities in each sentence to hide, rounded up; 0: none."""
    blm: float = Field(0.075, ge=0, le=1)
    """Number of other words to hide, as a share of all words in the sentence, rounded up; 0: none."""
    other_terms: bool = False
    """Allow those other words to belong to entities that were not chosen to be hidden."""
    masking: str = JOINT
    """joint, or another policy (span, pmi, random and so on) that hides as many words, without weights."""
    policy: PolicySettings = PolicySettings()
    """Settings of the masking policies other than joint."""
    static: bool = False
    """Hide the same words in every epoch."""
    swapped: float = Field(0.0, ge=0, le=1)
    """Share of the hidden pieces that are replaced by a random piece instead of [MASK]."""
    kept: float = Field(0.0, ge=0, le=1)
    """Share of the hidden pieces that are left unchanged in the input, but still predicted."""
    weighted: bool = True
    """Give hidden entity words a higher loss weight if they are rarer than the other hidden words."""
    threshold: float = Field(0.5, ge=0, le=1)
    """Before the softmax of the loss weights: lower bound for entity words and upper bound for other words."""
    normalise: Normalise = "masked"
    """Divide the loss by the number of hidden pieces (masked), or by the sum of their weights (weights)."""
    # the paper's is masked: with all entities hidden, the tagger then finds none in text without masks
    tags_on: ReadBy = "clean"
    """Input of the entity losses: the text with hidden words (masked), the original text (clean), or both."""
    entities: EntitySettings = EntitySettings()
    """Settings of the heads that detect and classify entities."""
    losses: TermWeights = TermWeights()
    """Weights of the three losses."""

    @field_validator("masking")
    @classmethod
    def _known_masking(cls, name: str) -> str:
        return name if name == JOINT else known_policy(name)


def check_plan(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    options: MslmSettings = plan.options
    require_language_model(tagger, "Recipe mslm")
    require_entities(options.entities, tagger.labels, tagger.scheme)
    if "adversarial" in options.masking:
        raise UsageError("options.masking: the adversary learns what to hide, in the recipe adversarial-masking only.")
    require_texts(options.masking, plan.source, plan.target)
    if options.static and options.masking != JOINT:
        raise UsageError("options.static needs options.masking=joint: other policies draw anew every time.")
    if options.swapped + options.kept > 1:
        raise UsageError("options.swapped and options.kept are shares of the hidden pieces: 1 at most together.")
    if options.elm == options.blm == 0:
        raise UsageError("options.elm and options.blm are both 0: nothing would be hidden.")
    if options.losses.types == 0 and types_apart(options.entities, tagger.labels):
        raise UsageError(
            "options.losses.types=0 would leave the head that types entities untrained: let the tags tell the types, "
            "options.entities.tags=typed."
        )
    return ()


def mslm(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    yield entity_stage(tagger, plan, plan.source.labelled() + plan.target.labelled())


def entity_stage(tagger: Tagger, plan: Plan, text: Corpus, shift: int = 0) -> Stage:
    """The three losses on this text. Heads that exist go on learning; `shift` changes the batches' seed."""
    options: MslmSettings = plan.options
    remodel(tagger, plan)
    learner = masked_tagger(tagger, plan)
    weights = EVEN
    if options.weighted and options.masking == JOINT:
        counts = count_masks(learner.masking, text, learner.predictable_pieces, plan.seed)
        weights = mask_weights(*counts, options.threshold)
    importance = options.losses.model_dump()
    objectives = {name: term for name, term in terms(tagger, weights, options).items() if importance[name] > 0}
    batches = plan.batches(tagger, {SOURCE: text}, shift)
    return Stage("mslm", objectives, batches, plan.training, {name: importance[name] for name in objectives}, learner)


def remodel(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    """MSLM's heads in the place of one layer of scores, unless they are there."""
    options: MslmSettings = plan.options
    if tagger.entities == options.entities:
        return ()
    tagger.find_entities(options.entities)
    return ("heads that find entities and type them (options.entities)",)


def masked_tagger(tagger: Tagger, plan: Plan) -> MaskedTagger:
    """The tagger with its language-model head and the masking."""
    options: MslmSettings = plan.options
    encoder = tagger.encoder
    assert isinstance(encoder, Transformer)
    masking = JointMasking(options.elm, options.blm, options.other_terms)
    other = None if options.masking == JOINT else policy_for(encoder, plan, options.masking, options.policy)
    mlm_head = mlm_head_for(encoder) if options.losses.words > 0 or other is not None else None
    corruption = Corruption.of(encoder.pieces.tokenizer, options.swapped, options.kept)
    return MaskedTagger(tagger, mlm_head, masking, corruption, other, plan.seed if options.static else None)


def terms(tagger: Tagger, weights: MaskWeights, options: MslmSettings) -> dict[str, Objective]:
    """Equation 12. With a single type, or where the tags tell the types, there is nothing to classify."""
    objectives = {"words": HiddenWords(weights, options.normalise), "tags": EntityDetection(options.tags_on)}
    return objectives if tagger.types is None else {**objectives, "types": EntityClassification(options.tags_on)}


MSLM = Recipe(
    "mslm",
    "train on labelled text of which entities are hidden, guessing them, finding them and typing them at once",
    mslm,
    MslmSettings,
    needs=frozenset({"language model", "entities"}),
    check=check_plan,
    remodel=remodel,
)
