"""DATNet (Zhou, Zhang, Jin, Peng 2021): two taggers that share what they can. Source and target have words and tags of
their own; a BiLSTM is shared (form F), or stands beside a private one of each (form P). A discriminator reads the
shared features with a reversed gradient, and both taggers learn under adversarial noise. Without labelled target
sentences one tagger is trained, on the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from pydantic import Field

from acclimate.data.batches import SOURCE, TARGET, Alternating, Balance, Stream
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.methods.alignment.domain_discriminator import DiscriminatorDiagnostics, DomainDiscriminator
from acclimate.methods.objective import Objective, Tagging, TaggingOfAll
from acclimate.methods.perturbation.adversarial import AdversarialTraining, Scope
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm
from acclimate.model.encoders.layers import Normalise
from acclimate.model.encoders.vectors import vectors_width
from acclimate.model.learner import Learner
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger
from acclimate.recipes.mat import normalise_tables
from acclimate.recipes.recipe import Plan, Recipe, Sibling, unlabelled
from acclimate.settings import Settings, UsageError
from acclimate.training.settings import ganin_ramp
from acclimate.training.stage import Stage

_HELD_OUT = 200  # sentences of each domain on which the discriminator is judged


class DatnetRadii(Settings):
    """How large the noise is; 0 for none. The paper has 5."""

    source_words: float = Field(1.0, ge=0)
    """Size (norm) of the noise on source word embeddings."""
    target_words: float = Field(1.0, ge=0)
    """Size (norm) of the noise on target word embeddings."""
    characters: float = Field(1.0, ge=0)
    """Size (norm) of the noise on character embeddings."""
    pieces: float = Field(1.0, ge=0)
    """Size of the noise on word-piece embeddings, relative to the root mean square of the embedding values."""


class DiscriminatorSettings(Settings):
    """What tells the domains apart, and how strongly its gradient is turned round."""

    discriminator: Literal["grad", "plain", "none"] = "grad"
    """grad: give more weight to sentences whose domain is hard to predict; plain: equal weights; none: off."""
    alpha: float = Field(0.25, gt=0, lt=1)
    """With grad: weight of source sentences in the discriminator's loss; target sentences have weight 1 - alpha."""
    gamma: float = Field(2.0, ge=0)
    """With grad: focusing exponent; higher values give less weight to easily classified sentences; 0: no effect."""
    strength: float | None = Field(None, ge=0)
    """Weight of the reversed gradient; null: 0.7 for the LSTM, 0.05 for a pre-trained encoder."""
    rate: float | None = Field(None, gt=0)
    """Learning rate of the discriminator, as a factor of the run's; null: 1 (LSTM) or 10 (pre-trained encoder)."""
    ramp: bool = False
    """Increase the strength gradually from 0 during training."""


class DatnetSettings(DiscriminatorSettings):
    """What is shared, how the two domains are made alike, and how large the noise is."""

    form: Literal["F", "P"] = "F"
    """F: share everything but word embeddings and tag layer; P: add private parts per domain."""
    shared_width: int | None = Field(None, ge=1)
    """Size of the shared part; null: the encoder's size with form F, half of it with form P."""
    private_width: int | None = Field(None, ge=1)
    """With form P: size of the private part; null: half of the encoder's size."""
    adversarial: bool = True
    """Train with adversarial noise on the embeddings."""
    radius: DatnetRadii = DatnetRadii()
    """Size (norm) of the noise."""
    scope: Scope = "sentence"
    """Unit over which the norm of the noise is taken: sentence, token or the whole batch."""
    weight: float = Field(1.0, ge=0)
    """Weight of the loss on noisy sentences, relative to the loss on clean ones."""
    direction: Literal["task", "full"] = "task"
    """Gradient that the noise follows: of the tagging loss (task), plus the discriminator's, not reversed (full)."""
    carry: bool = True
    """Feed the noisy sentences to the discriminator, too."""
    schedule: Literal["joint", "alternate"] = "joint"
    """Put both domains into each batch (joint), or use batches of one domain at a time (alternate)."""
    mix_rate: float = Field(1.0, gt=0)
    """Share of the source that is read in each epoch."""
    tail: float = Field(0.2, ge=0, lt=1)
    """With alternate: share of the target batches that are kept for the end of each epoch."""
    balance: Balance = "none"
    """With alternate: square-root multiplies the source per epoch by the root of the source-to-target size ratio."""
    share_crf: bool = False
    """Share one CRF between the domains; both need the same labels."""
    normalise: Normalise = "weighted"
    """How to normalise the embeddings of character-cnn-lstm, so that they cannot outgrow the noise; or none."""
    source_vectors: str | None = None
    """File of word vectors for the source, for example of another language; null: those of the target."""


def datnet(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    options: DatnetSettings = plan.options
    few = plan.target.labelled()
    remodel(tagger, plan)
    learner: Learner = family(tagger, plan.source, options) if few else tagger
    task: Objective = TaggingOfAll("sentence") if few else Tagging("source", "sentence")
    batches = batches_of(tagger, plan, few or plan.target)
    updates = plan.training.updates_for(batches.epoch_length)
    discriminator = discriminator_for(tagger, options, updates)
    objectives: dict[str, Objective] = {"tag": task}
    watches = []
    if discriminator is not None:
        objectives["discriminator"] = discriminator
        watches.append(DiscriminatorDiagnostics(discriminator, held_out(plan, few or plan.target)))
    if options.adversarial:
        objectives["tag"] = adversarial(task, discriminator, options)
    yield Stage("datnet", objectives, batches, plan.training, learner=learner, watches=tuple(watches))


def remodel(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    """Normalised tables; and, with labelled target sentences, the LSTMs that the form asks for."""
    options: DatnetSettings = plan.options
    few = plan.target.labelled()
    made = normalise_tables(tagger, few or plan.source, options.normalise)
    if not few:
        return made
    if options.form == "P":
        tagger.split(options.shared_width, options.private_width)
        return (*made, "a shared and a private part of the encoder side by side (options.form=P)")
    if options.shared_width is not None:
        tagger.split(options.shared_width, 0)
        return (*made, f"an LSTM of another width (options.shared_width={options.shared_width})")
    return made


def family(tagger: Tagger, source: Corpus, options: DatnetSettings) -> Siblings:
    """The target's tagger, and one for the source that shares with it what the form says."""
    vectors = {} if options.source_vectors is None else {"vectors": options.source_vectors}
    encoder = tagger.encoder.sibling(source, **vectors)
    return Siblings({TARGET: tagger, SOURCE: tagger.sibling(source.labels, encoder, share_head=options.share_crf)})


def discriminator_for(tagger: Tagger, options: DiscriminatorSettings, updates: int) -> DomainDiscriminator | None:
    if options.discriminator == "none":
        return None
    strength, rate = strength_and_rate(tagger, options)
    ramp = ganin_ramp(updates) if options.ramp else None
    width = tagger.encoder.shared_width
    return DomainDiscriminator(width, options.discriminator, options.alpha, options.gamma, strength, ramp, rate)


def strength_and_rate(tagger: Tagger, options: DiscriminatorSettings) -> tuple[float, float]:
    """Those of the discriminator, or defaults that fit the encoder."""
    strength, rate = (0.7, 1.0) if isinstance(tagger.encoder, CharacterCnnLstm) else (0.05, 10.0)
    strength = strength if options.strength is None else options.strength
    return strength, rate if options.rate is None else options.rate


def check_rate(tagger: Tagger, plan: Plan, options: DiscriminatorSettings, where: str) -> None:
    """Refuse a rate of its own where all parameters learn at one."""
    _, rate = strength_and_rate(tagger, options)
    if plan.training.optimizer == "muon" and options.discriminator != "none" and rate != 1:
        raise UsageError(
            f"With training.optimizer=muon the discriminator cannot learn at a rate of its own: set {where}.rate=1, or "
            "take adamw."
        )


def adversarial(
    task: Objective, discriminator: DomainDiscriminator | None, options: DatnetSettings
) -> AdversarialTraining:
    """Equation 5, with a radius each for source words, target words and characters."""
    radius = options.radius
    radii = {
        domain: {"words": words, "characters": radius.characters, "pieces": radius.pieces}
        for domain, words in ((SOURCE, radius.source_words), (TARGET, radius.target_words))
    }
    carried = discriminator if options.carry else None
    full = options.direction == "full"
    guide = partial(discriminator, reverse=False) if full and discriminator is not None else None
    return AdversarialTraining(task, radii, weight=options.weight, scope=options.scope, carried=carried, guide=guide)


def batches_of(tagger: Tagger, plan: Plan, target: Corpus) -> Stream:
    options: DatnetSettings = plan.options
    corpora = {SOURCE: plan.source.labelled(), TARGET: target}
    if options.schedule == "joint":
        return plan.batches(tagger, corpora, pass_share=options.mix_rate)
    training = plan.training
    sizes = (training.words_per_batch, training.sentences_per_batch, plan.seed, tagger.encoder.count_pieces)
    return Alternating(corpora, *sizes, options.mix_rate, options.tail, options.balance)


def held_out(plan: Plan, target: Corpus) -> dict[str, Sequence[Sentence]]:
    """Sentences to evaluate the discriminator on, outside the training data if there are any."""
    unused = unlabelled(plan) if plan.target.labelled() else Corpus(())
    aside = {SOURCE: plan.aside.get(SOURCE), TARGET: plan.aside.get(TARGET) or unused}
    return {
        domain: (aside[domain] or corpus)[:_HELD_OUT].unlabelled().sentences
        for domain, corpus in ((SOURCE, plan.source), (TARGET, target))
    }


def check_plan(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    options: DatnetSettings = plan.options
    if options.form == "F" and options.private_width is not None:
        raise UsageError("options.private_width has no effect in form F, which has no private part: take form=P.")
    check_rate(tagger, plan, options, "options")
    if options.schedule == "joint" and options.balance != "none":
        raise UsageError("options.balance has no effect with schedule=joint: take schedule=alternate.")
    if plan.target.labelled():
        check_family(tagger, plan.source, options)
        return ()
    if options.form == "P":
        raise UsageError(
            "DATNet-P needs labelled target sentences: without any, the target's private part learns nothing. Give "
            "--target-labelled, or take options.form=F."
        )
    if options.schedule == "alternate":
        raise UsageError("options.schedule=alternate needs labelled target sentences; without any take joint.")
    if options.discriminator == "none":
        raise UsageError(
            "Without labelled target sentences and without a discriminator nothing is learnt from the target: give "
            "--target-labelled, or take options.discriminator=grad."
        )
    for name in ("shared_width", "share_crf", "source_vectors"):
        if getattr(options, name):
            raise UsageError(f"options.{name} has no effect without labelled target sentences: one tagger is trained.")
    return ()


def check_family(tagger: Tagger, source: Corpus, options: DatnetSettings) -> None:
    """Refuse a source that cannot share this tagger's encoder."""
    if not len(source.labels):
        raise InputError(f"the source {source.name} has no labels to learn from.")
    if options.share_crf and source.labels != tagger.labels:
        raise UsageError(
            f"options.share_crf needs the same labels in both domains, not {', '.join(source.labels)} in the source "
            f"and {', '.join(tagger.labels)} in the target."
        )
    if options.source_vectors is None:
        return
    if not isinstance(tagger.encoder, CharacterCnnLstm):
        raise UsageError("options.source_vectors are for the encoder character-cnn-lstm; a pre-trained one reads none.")
    width, own = vectors_width(options.source_vectors), tagger.encoder.settings.word_width
    if width != own:
        raise UsageError(
            f"options.source_vectors: {width} numbers a word, but {own} in the target: one LSTM reads both, so they "
            "must be of one size."
        )


DATNET = Recipe(
    "datnet",
    "share an encoder between source and target, with a discriminator that must not tell them apart",
    datnet,
    DatnetSettings,
    own_tagger="always",
    check=check_plan,
    remodel=remodel,
    sibling=Sibling("source"),
)
