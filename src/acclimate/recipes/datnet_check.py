"""What DATNet cannot do, told before anything is trained."""

from __future__ import annotations

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm
from acclimate.model.encoders.vectors import vectors_width
from acclimate.model.tagger import Tagger
from acclimate.recipes.datnet import DatnetSettings, strength_and_rate
from acclimate.recipes.recipe import Plan
from acclimate.settings import UsageError


def check_plan(tagger: Tagger, plan: Plan) -> None:
    options: DatnetSettings = plan.options
    if options.form == "F" and options.private_width is not None:
        raise UsageError("options.private_width has no effect in form F, which has no private part: take form=P.")
    _, rate = strength_and_rate(tagger, options)
    if plan.training.optimizer == "muon" and options.discriminator != "none" and rate != 1:
        raise UsageError(
            "With training.optimizer=muon the discriminator cannot learn at a rate of its own: set options.rate=1, or "
            "take adamw."
        )
    if options.schedule == "joint" and options.balance != "none":
        raise UsageError("options.balance has no effect with schedule=joint: take schedule=alternate.")
    if plan.target.labelled():
        check_family(tagger, plan.source, options)
        return
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


def check_family(tagger: Tagger, source: Corpus, options: DatnetSettings) -> None:
    """Whether the source can have a sibling of this tagger."""
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
