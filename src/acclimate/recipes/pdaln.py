"""PDALN (Zhang, Xia, Yu, Liu, Zhao 2021): alignment, contrast, and rounds of teaching on augmented text.
Without labelled target sentences there is one stage (equation 8). With a few, words of one tag are aligned as well
(equation 9); then come rounds on augmented sentences (equation 10), taught by the tagger of the last round (equation
11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Literal

import torch
from pydantic import Field

from acclimate.data.batches import TARGET, Stream
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.subsets import take_sentences
from acclimate.methods.alignment.mmd import SentenceDiscrepancy, WordDiscrepancy
from acclimate.methods.augmentation.anchors import Augmentation, augment_with_anchors
from acclimate.methods.augmentation.synonyms import NearestWords, Synonyms, open_synonyms
from acclimate.methods.contrastive import Contrast, Edit, edit_text, replace_synonyms
from acclimate.methods.objective import Average, Objective, Tagging, TaggingOfAll
from acclimate.methods.perturbation.virtual_adversarial import VirtualAdversarialTraining
from acclimate.methods.teachers import Distillation, MeanTeacher, TagProbabilities, frozen_copy, rising
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm
from acclimate.model.encoders.encoder import Encoder
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Plan, Recipe, chooses, evaluated_often, same_weights, some_passes, unlabelled
from acclimate.settings import Settings, UsageError
from acclimate.training.settings import Schedule, TrainingSettings, completed
from acclimate.training.stage import Stage, Watch

ONLY_DELETION = (
    "The contrast edited sentences by leaving words out, never by synonyms: the tagger's word table began without "
    "vectors. For synonyms, name a source of them (synonyms or vectors) or set tagger.lstm.vectors."
)


class EditSettings(Settings):
    """How much of a sentence is edited, and where synonyms come from."""

    edit_share: float = Field(0.2, gt=0, le=1)
    """Share of the words of a sentence to change."""
    synonyms: str | None = None
    """File of synonyms, one line per word: word<TAB>synonym,synonym; null: none."""
    vectors: str | None = None
    """Word vectors whose nearest neighbours serve as synonyms; null: the encoder's, if no synonym file is given."""


class ContrastSettings(EditSettings):
    """How sentences are told from one another, and what makes their twins."""

    temperature: float = Field(0.05, gt=0)
    """Temperature of the contrastive loss L_c."""
    normalise: bool = True
    """Scale the vectors that L_c compares to length 1."""
    symmetric: bool = False
    """Also compute L_c in the other direction, from the edited sentence to the original, and average both."""
    edits: Literal["both", "synonyms", "deletion"] = "both"
    """How L_c creates the edited copy of a sentence: synonyms, deletion, or both."""


def edit_for(tagger: Tagger, plan: Plan) -> Edit:
    options: ContrastSettings = plan.options
    share, kind = options.edit_share, tagger.labels.kind
    wanted = options.edits == "synonyms" or (options.edits == "both" and knows_synonyms(tagger, options))
    synonyms = synonyms_for(tagger, plan) if wanted else None

    def edit(sentence: Sentence, dice: Random) -> Sentence:
        if options.edits == "synonyms" and synonyms is not None:
            return replace_synonyms(sentence, synonyms, dice, share, kind)
        return edit_text(sentence, dice, synonyms, share, kind)  # without synonyms it leaves words out

    return edit


def synonyms_for(tagger: Tagger, plan: Plan) -> Synonyms:
    """Synonyms from the files that are named, or else from the vectors that the encoder began with."""
    options: EditSettings = plan.options
    words = {word for corpus in (plan.source, plan.target) for word in corpus.vocabulary}
    if named_sources(options):
        return open_synonyms(options.synonyms, options.vectors, words)
    if not knows_synonyms(tagger, options):
        raise UsageError(
            "this tagger knows no synonyms: its word table begins at random, and an untrained table has no neighbours. "
            "Name a source (synonyms or vectors), or give the tagger vectors: tagger.lstm.vectors=glove."
        )
    encoder = tagger.encoder
    if isinstance(encoder, CharacterCnnLstm):  # its table also has random rows
        return open_synonyms(vectors=encoder.settings.vectors, words=words)
    return nearest_in(encoder, words)


def knows_synonyms(tagger: Tagger, options: EditSettings) -> bool:
    """Whether there are synonyms: files, or vectors that the encoder began with."""
    encoder = tagger.encoder
    return (
        bool(named_sources(options))
        or not isinstance(encoder, CharacterCnnLstm)
        or encoder.settings.vectors is not None
    )


def named_sources(options: EditSettings) -> list[str]:
    """The settings that name a source of synonyms."""
    return [name for name in ("synonyms", "vectors") if getattr(options, name) is not None]


def only_deletes(tagger: Tagger, options: ContrastSettings) -> bool:
    """Whether sentences were to be edited in two ways, and only words can be left out."""
    return options.edits == "both" and not knows_synonyms(tagger, options)


@torch.no_grad()
def nearest_in(encoder: Encoder, words: Collection[str]) -> NearestWords:
    """Neighbours in the encoder's own table, of words that are one piece. Words that share a vector are unknown to
    it."""
    listed = sorted({word.lower() for word in words if word.isalpha()})
    listed = [word for word, size in zip(listed, encoder.sizes_of(listed), strict=True) if size == 1]
    if not listed:
        return NearestWords({})
    vectors = encoder.vectors_of(listed).float().cpu()  # (word, size)
    keys = [row.tobytes() for row in vectors.numpy()]
    seen = Counter(keys)
    return NearestWords({word: row for word, row, key in zip(listed, vectors, keys, strict=True) if seen[key] == 1})


Variant = Literal["distillation", "mean-teacher", "vat", "none"]


class MeanTeacherSettings(Settings):
    """The variant `mean-teacher`."""

    weight: float = Field(10.0, ge=0)
    """Weight of the consistency loss between student and teacher."""
    decay: float = Field(0.99, ge=0, le=1)
    """Decay of the teacher's moving average during the warm-up."""
    later: float = Field(0.995, ge=0, le=1)
    """Decay of the teacher's moving average after the warm-up."""
    warm_up: int = Field(300, ge=0)
    """Length of the warm-up in updates; the weight of the consistency loss rises during it."""


class VirtualNoiseSettings(Settings):
    """The noise of virtual adversarial training."""

    trial: float = Field(1e-5, gt=0)
    """Standard deviation of the random noise at which the gradient is computed."""
    step: float = Field(1e-2, gt=0)
    """Largest absolute value of the noise (the authors' 1e-3 has little effect on a small encoder)."""


class VirtualSettings(VirtualNoiseSettings):
    """The variant `vat`."""

    weight: float = Field(1.0, ge=0)
    """Weight of the consistency loss under noise."""


class AnchorSettings(Settings):
    """How many sentences with entities of the other domain are made."""

    target_variants: int = Field(4, ge=0)
    """Number of new sentences to create from each labelled target sentence."""
    source_variants: int = Field(2, ge=0)
    """Number of new sentences to create from each selected source sentence."""
    source_sentences: int | None = Field(500, ge=1)
    """Number of source sentences to select in each round; null: all."""
    ratio: float | None = Field(None, ge=0)
    """Number of source sentences to select per labelled target sentence; null: use source_sentences."""
    all_entities: bool = False
    """Replace every entity of a sentence that has a possible replacement; false: only one."""


class PdalnSettings(ContrastSettings, AnchorSettings):
    """How much each term counts (0 leaves it out), how text is augmented, and who teaches in the rounds."""

    alpha: float = Field(0.1, ge=0)
    """Weight of L_d, the discrepancy between sentences of both domains (alpha' without target labels); 0: off."""
    beta: float = Field(0.1, ge=0)
    """Weight of L_w, the discrepancy between words of the same tag; used only with target labels; 0: off."""
    contrast: float = Field(1.0, ge=0)
    """Weight of the contrastive loss L_c; 0: off."""
    gamma: float = Field(0.75, ge=0, le=1)
    """With distillation: weight of that loss in a round; the other losses share 1 - gamma; 0: no teacher."""
    variant: Variant = "distillation"
    """Loss added in the rounds: distillation (equation 11), mean-teacher, vat or none."""
    mu: float | dict[str, float] = 0.25
    """Weight of each tag in L_w: one number, or a number per tag (0.25 for tags not listed)."""
    unbiased: bool = False
    """Use the unbiased MMD estimator in L_d and L_w, without the kernel value of a point with itself."""
    probabilities: TagProbabilities = "marginals"
    """Probabilities that teacher and student compare: CRF marginals, or the softmax of each word's tag scores."""
    rounds: int = Field(3, ge=0)
    """Number of rounds after the first stage, with target labels only; 0: none."""
    round_epochs: float = Field(4.0, gt=0)
    """Number of passes over the text of a round."""
    round_rate: float = Field(0.25, gt=0)
    """Learning rate of a round, as a factor of the run's learning rate."""
    keep_best: bool = False
    """Undo a round that does not improve the selector's score; false: keep every round."""
    patience: int = Field(1, ge=0)
    """With keep_best: number of undone rounds in a row to tolerate; one more ends the rounds. 0: stop at the first."""
    augment: bool = True
    """Replace entities by those of the other domain; false: train on unchanged source and labelled target sentences."""
    augmented_only: bool = False
    """In a round, compute the tagging loss on augmented sentences only."""
    mean_teacher: MeanTeacherSettings = MeanTeacherSettings()
    """Settings of variant=mean-teacher."""
    virtual: VirtualSettings = VirtualSettings()
    """Settings of variant=vat, virtual adversarial training."""


SCALE: Average = "sentence"
"""Every term is a mean over sentences. The paper's mean over words in equation 11 is the same with another gamma."""

ROUND_EVALUATIONS = 8  # by the selector, at least

Terms = dict[str, tuple[float, Objective]]
"""The terms of a loss by name, with their weights."""


def pdaln(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    options: PdalnSettings = plan.options
    few = plan.target.labelled()
    plan = replace(plan, training=completed(plan.training, tagger))
    edit = edit_for(tagger, plan) if options.contrast > 0 else None
    yield stage("align", alignment(tagger, plan, edit), batches_of(tagger, plan, plan.source.labelled()), plan.training)
    if not few:
        return
    undone = 0  # rounds in a row
    for number in range(1, options.rounds + 1):
        teacher = frozen_copy(tagger)
        text, watches = round_text(plan, number)
        batches = batches_of(tagger, plan, text, shift=number)
        training = round_training(plan, batches)
        updates = training.updates_for(batches.epoch_length)
        terms = teaching(alignment(tagger, plan, edit, number), teacher, plan, updates)
        selector = plan.selector if options.keep_best else None
        yield replace(stage(f"round-{number}", terms, batches, training), selector=selector, watches=watches)
        undone = undone + 1 if same_weights(teacher, tagger) else 0
        if options.keep_best and undone > options.patience:
            return


def alignment(tagger: Tagger, plan: Plan, edit: Edit | None, number: int = 0) -> Terms:
    """The loss terms of equation 8, 9 or 10, whichever the data allow."""
    options: PdalnSettings = plan.options
    few = plan.target.labelled()
    both = bool(few) and not (number and options.augmented_only)
    terms: Terms = {"tag": (1.0, TaggingOfAll(SCALE) if both else Tagging("source", SCALE))}
    if options.alpha > 0:
        terms["sentences"] = (options.alpha, SentenceDiscrepancy(unbiased=options.unbiased))
    if options.beta > 0 and few:
        terms["words"] = (options.beta, WordDiscrepancy(options.mu, unbiased=options.unbiased))
    if edit is not None:
        terms["contrast"] = (options.contrast, contrast(tagger, plan, edit, number))
    return terms


def teaching(
    terms: Terms, teacher: Tagger, plan: Plan, updates: int
) -> Mapping[str, tuple[float | Schedule, Objective]]:
    """Equation 11: the terms of a round with those of the teacher."""
    options: PdalnSettings = plan.options
    if options.variant == "distillation" and options.gamma > 0:
        rest = 1 - options.gamma
        kept = {name: (rest * weight, term) for name, (weight, term) in terms.items() if rest > 0}
        return {**kept, "distil": (options.gamma, Distillation(teacher, options.probabilities, average=SCALE))}
    if options.variant == "mean-teacher":
        mean = options.mean_teacher
        warm_up = min(mean.warm_up, updates)
        objective = MeanTeacher(teacher, mean.decay, mean.later, warm_up, options.probabilities, SCALE)
        return {**terms, "mean_teacher": (lambda update: mean.weight * rising(update, warm_up), objective)}
    if options.variant == "vat":
        virtual = options.virtual
        noise = VirtualAdversarialTraining(virtual.step, virtual.trial, [TARGET], average=SCALE)
        return {**terms, "virtual": (virtual.weight, noise)}
    return terms


def contrast(tagger: Tagger, plan: Plan, edit: Edit, number: int) -> Contrast:
    options: ContrastSettings = plan.options
    return Contrast(
        tagger.encoder.sentence_width,
        edit,
        temperature=options.temperature,
        normalise=options.normalise,
        symmetric=options.symmetric,
        seed=plan.seed * 1_000 + number,
    )


def round_text(plan: Plan, number: int) -> tuple[Corpus, tuple[Watch, ...]]:
    """The text of a round in the source's place, made anew by another seed, and what notes how it was made."""
    options: PdalnSettings = plan.options
    source, few, seed = plan.source.labelled(), plan.target.labelled(), plan.seed * 1_000 + number
    if options.augment:
        made = exchanged(source, few, options, seed)
        return made.corpus, (made.edited(),)
    most = options.source_sentences
    return take_sentences(source, len(source) if most is None else min(len(source), most), seed) + few, ()


def exchanged(source: Corpus, few: Corpus, options: AnchorSettings, seed: int) -> Augmentation:
    """Sentences of both domains with entities of the other one."""
    return augment_with_anchors(source, few, **options.model_dump(include=set(AnchorSettings.model_fields)), seed=seed)


def batches_of(tagger: Tagger, plan: Plan, first: Corpus, shift: int = 0) -> Stream:
    """A batch of source or augmented sentences beside one of the target; half of that is labelled, if any is."""
    few, text = plan.target.labelled(), unlabelled(plan)
    return plan.batches_beside(tagger, first, [corpus for corpus in (few, text) if corpus] or [text], shift)


def round_training(plan: Plan, batches: Stream) -> TrainingSettings:
    """`round_epochs` passes at a lower rate, and never more updates than the run's."""
    options: PdalnSettings = plan.options
    rate = plan.training.learning_rate
    lower = None if rate is None else options.round_rate * rate
    training = some_passes(plan.training.model_copy(update={"learning_rate": lower}), options.round_epochs, batches)
    return evaluated_often(training, batches, ROUND_EVALUATIONS) if chooses(plan) else training


def stage(
    name: str, terms: Mapping[str, tuple[float | Schedule, Objective]], batches: Stream, training: TrainingSettings
) -> Stage:
    weights = {term: weight for term, (weight, _) in terms.items()}
    return Stage(name, {term: objective for term, (_, objective) in terms.items()}, batches, training, weights)


def check_plan(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    options: PdalnSettings = plan.options
    check_mu(tagger, options.mu, "options.mu")
    check_edits(tagger, plan)
    warnings = (ONLY_DELETION,) if options.contrast > 0 and only_deletes(tagger, options) else ()
    if not plan.target.labelled():
        check_unlabelled(options)
        return warnings
    if options.variant == "mean-teacher" and all(sentence.tags is not None for sentence in plan.target):
        raise UsageError("options.variant=mean-teacher learns from unlabelled target text: give --target as well.")
    if options.augment and options.rounds:
        check_anchors(plan)
    return warnings


def check_mu(tagger: Tagger, mu: float | dict[str, float], where: str) -> None:
    unknown = [tag for tag in mu if tag not in tagger.tags] if isinstance(mu, dict) else []
    if unknown:
        raise UsageError(f"{where}: {unknown[0]!r} is none of the tagger's tags, {', '.join(tagger.tags)}.")


def check_unlabelled(options: PdalnSettings) -> None:
    """Without labelled target sentences only equation 8 is left."""
    if options.variant in ("mean-teacher", "vat"):
        raise UsageError(
            f"options.variant={options.variant} needs labelled target sentences: without any there are no rounds. Give "
            "--target-labelled."
        )
    if options.alpha == 0 and options.contrast == 0:
        raise UsageError(
            "Without labelled target sentences, options.alpha=0 and options.contrast=0 leave nothing to learn from the "
            "target: set one of them above 0, or give --target-labelled."
        )


def check_anchors(plan: Plan) -> None:
    try:
        text, _ = round_text(plan, 1)
    except InputError as problem:
        raise InputError(f"{problem} Without exchanged entities: options.augment=false.") from None
    if not len(text):
        raise InputError(
            "no entity of the labelled target sentences has another one of its type in the source, or the other way "
            "round: nothing can be exchanged. Without that: options.augment=false."
        )


def check_edits(tagger: Tagger, plan: Plan) -> None:
    """Refuse files of synonyms that cannot be read or would not be used."""
    options: PdalnSettings = plan.options
    named = named_sources(options)
    if named and (options.edits == "deletion" or options.contrast == 0):
        raise UsageError(f"options.{named[0]} has no effect with options.edits=deletion or options.contrast=0.")
    if options.contrast == 0:
        return
    try:
        edit_for(tagger, plan)
    except UsageError as problem:
        raise UsageError(f"options.edits=synonyms: {problem}") from None
    except (OSError, InputError) as problem:
        raise InputError(f"options.{named[0] if named else 'edits'}: {problem}") from None


PDALN = Recipe(
    "pdaln",
    "make both domains alike, then teach in rounds on sentences with entities of the other domain",
    pdaln,
    PdalnSettings,
    needs=frozenset({"target", "entities beside target labels"}),
    check=check_plan,
)
