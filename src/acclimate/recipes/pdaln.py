"""PDALN (Zhang, Yu, Fu, Wang, Wei, Yu, Zhang 2021): alignment, contrast, and rounds of teaching on augmented text.

Without labelled target sentences, one stage: the tagger learns the source, while sentences of both domains are made
alike and each is told from the others (equation 8). With a few, words of one tag are made alike as well (equation 9);
then come rounds in which sentences with entities of the other domain take the source's place (equation 10), and the
tagger of the last round, frozen, teaches its copy on them (equation 11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from acclimate.data.batches import SOURCE, TARGET, Stream
from acclimate.data.corpus import Corpus
from acclimate.data.joined import Joined
from acclimate.data.subsets import take_sentences
from acclimate.methods.alignment.discrepancy import SentenceDiscrepancy, WordDiscrepancy
from acclimate.methods.alignment.mmd import MEDIANS, SCALE_FREE
from acclimate.methods.augmentation.anchor_corpus import augment_with_anchors
from acclimate.methods.augmentation.anchor_notes import Anchored
from acclimate.methods.augmentation.anchor_report import Augmentation
from acclimate.methods.averages import Average
from acclimate.methods.contrastive import Contrast, Edit
from acclimate.methods.distillation import Distillation, frozen_copy
from acclimate.methods.mean_teacher import MeanTeacher, rising
from acclimate.methods.objective import Objective
from acclimate.methods.perturbation.symmetric_virtual import SymmetricVirtualTraining
from acclimate.methods.perturbation.virtual_adversarial import VirtualAdversarialTraining
from acclimate.methods.tagging import Tagging, TaggingOfAll
from acclimate.model.tagger import Tagger
from acclimate.recipes.pdaln_edits import edit_for
from acclimate.recipes.pdaln_settings import AnchorSettings, ContrastSettings, PdalnSettings, VirtualSettings
from acclimate.recipes.recipe import Plan
from acclimate.recipes.rounds import Patience, chooses, looked_at, same_weights
from acclimate.training.loop import completed
from acclimate.training.schedules import Schedule
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage

SCALE: Average = "sentence"
"""Every term is a mean over sentences, as the CRF's likelihood and the contrast are. The paper has its equation 11 as a
mean over words; that is the same loss with another gamma."""

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
    patience = Patience(options.patience)
    for number in range(1, options.rounds + 1):
        teacher = frozen_copy(tagger)
        made = exchanged_for(plan, number) if options.augment else None
        text = plain_text(plan, number) if made is None else made.corpus
        batches = batches_of(tagger, plan, text, shift=number)
        training = round_training(plan, batches)
        terms = teaching(
            alignment(tagger, plan, edit, number), teacher, plan, training.updates_for(batches.epoch_length)
        )
        yield replace(
            stage(f"round-{number}", terms, batches, training),
            selector=plan.selector if options.keep_best else None,
            watches=() if made is None else (Anchored(made.variants),),
        )
        # where the selector has gone back to what was before this round, the next one starts there, on other text
        if options.keep_best and patience.ends_after(undone=same_weights(teacher, tagger)):
            return


def alignment(tagger: Tagger, plan: Plan, edit: Edit | None, number: int = 0) -> Terms:
    """Equation 8, 9 or 10, whichever the data allow. A term of weight 0 is not there at all."""
    options: PdalnSettings = plan.options
    few = plan.target.labelled()
    both = bool(few) and not (number and options.augmented_only)
    terms: Terms = {"tag": (1.0, TaggingOfAll(SCALE) if both else Tagging("source", SCALE))}
    kernel = SCALE_FREE if options.scale_free else MEDIANS
    if options.alpha > 0:
        terms["sentences"] = (options.alpha, SentenceDiscrepancy(kernel, options.unbiased))
    if options.beta > 0 and few:
        words = WordDiscrepancy(options.mu, kernel, options.unbiased, options.most_words)
        terms["words"] = (options.beta, words)
    if edit is not None:
        terms["contrast"] = (options.contrast, contrast(tagger, plan, edit, number))
    return terms


def teaching(
    terms: Terms, teacher: Tagger, plan: Plan, updates: int
) -> Mapping[str, tuple[float | Schedule, Objective]]:
    """Equation 11: the terms of a round, and who teaches in it. With gamma 0 nobody does."""
    options: PdalnSettings = plan.options
    if options.variant == "distillation" and options.gamma > 0:
        rest = 1 - options.gamma
        kept = {name: (rest * weight, term) for name, (weight, term) in terms.items() if rest > 0}
        return {**kept, "distil": (options.gamma, Distillation(teacher, options.chances, average=SCALE))}
    if options.variant == "mean-teacher":
        mean = options.mean_teacher
        warm_up = min(mean.warm_up, updates)
        objective = MeanTeacher(teacher, mean.decay, mean.later, warm_up, options.chances, SCALE)
        return {**terms, "mean_teacher": (lambda update: mean.weight * rising(update, warm_up), objective)}
    if options.variant == "vat":
        return {**terms, "virtual": (options.virtual.weight, noisy(options.virtual))}
    return terms


def noisy(virtual: VirtualSettings) -> Objective:
    """Tags of target words must not change under noise."""
    if virtual.kind == "bond":
        return SymmetricVirtualTraining(virtual.step, virtual.trial, [TARGET], average=SCALE)
    return VirtualAdversarialTraining(virtual.radius.model_dump(), [TARGET], average=SCALE)


def contrast(tagger: Tagger, plan: Plan, edit: Edit, number: int) -> Contrast:
    options: ContrastSettings = plan.options
    return Contrast(
        tagger.encoder.sentence_width,
        edit,
        options.vector_size,
        options.temperature,
        normalise=options.normalise,
        symmetric=options.symmetric,
        seed=plan.seed * 1_000 + number,
    )


def round_text(plan: Plan, number: int) -> Corpus:
    """What takes the source's place in a round: made anew each time, by another seed."""
    return exchanged_for(plan, number).corpus if plan.options.augment else plain_text(plan, number)


def exchanged_for(plan: Plan, number: int) -> Augmentation:
    return exchanged(plan.source.labelled(), plan.target.labelled(), plan.options, plan.seed * 1_000 + number)


def plain_text(plan: Plan, number: int) -> Corpus:
    """A sample of the source and the labelled target sentences, as they are."""
    source, most = plan.source.labelled(), plan.options.source_sentences
    count = len(source) if most is None else min(len(source), most)
    return take_sentences(source, count, plan.seed * 1_000 + number) + plan.target.labelled()


def anchors(source: Corpus, few: Corpus, options: AnchorSettings, seed: int) -> Corpus:
    """Sentences of both domains with entities of the other one."""
    return exchanged(source, few, options, seed).corpus


def exchanged(source: Corpus, few: Corpus, options: AnchorSettings, seed: int) -> Augmentation:
    """The same, with what was exchanged for what."""
    return augment_with_anchors(
        source,
        few,
        target_variants=options.target_variants,
        source_variants=options.source_variants,
        source_sentences=options.source_sentences,
        ratio=options.ratio,
        all_entities=options.all_entities,
        seed=seed,
    )


def batches_of(tagger: Tagger, plan: Plan, first: Corpus, shift: int = 0) -> Stream:
    """A batch of source or augmented sentences beside one of the target; half of that is labelled, if any is."""
    few, text = plan.target.labelled(), plan.target.filter(lambda sentence: sentence.tags is None)
    if not few or not text:
        return plan.batches(tagger, {SOURCE: first, TARGET: few or text}, shift)
    training = plan.training
    sentences = training.sentences_per_batch
    sizes = {
        "words_per_batch": max(1, training.words_per_batch // 2),
        "sentences_per_batch": None if sentences is None else max(1, sentences // 2),
    }
    half = replace(plan, training=training.model_copy(update=sizes))
    source = plan.batches(tagger, {SOURCE: first}, shift)
    target = [half.batches(tagger, {TARGET: corpus}, shift, beside=source) for corpus in (few, text)]
    return Joined({SOURCE: [source], TARGET: target})


def round_training(plan: Plan, batches: Stream) -> TrainingSettings:
    """So many passes over the round's text, at a lower rate; never more updates than were asked for."""
    options: PdalnSettings = plan.options
    rate = plan.training.learning_rate
    lower = None if rate is None else options.round_rate * rate
    passes = {"epochs": options.round_epochs, "updates": None, "learning_rate": lower}
    training = plan.training.model_copy(update=passes)
    updates = training.updates_for(batches.epoch_length)
    most = plan.training.updates
    training = training.model_copy(update={"updates": updates if most is None else min(updates, most)})
    return looked_at(training, batches, options.round_looks) if chooses(plan) else training


def stage(
    name: str, terms: Mapping[str, tuple[float | Schedule, Objective]], batches: Stream, training: TrainingSettings
) -> Stage:
    weights = {term: weight for term, (weight, _) in terms.items()}
    return Stage(name, {term: objective for term, (_, objective) in terms.items()}, batches, training, weights)
