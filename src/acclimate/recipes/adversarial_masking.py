"""Tune the encoder to the target's text, then train the tagger on the source (Vu, Phung, Haffari, EMNLP 2020).

Domain tuning hides words that a learned adversary chooses, or any other policy; task tuning is plain training on the
labelled source; the target's labels are never seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from acclimate.data.batches import SOURCE
from acclimate.data.problems import InputError
from acclimate.methods.tagging import Tagging
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import guesser_for
from acclimate.model.tagger import Tagger
from acclimate.recipes.domain_tuning import DomainTuning, tuning_stage
from acclimate.recipes.recipe import Plan
from acclimate.recipes.tuning_text import read_text
from acclimate.settings import UsageError
from acclimate.training.stage import Stage


class AdversarialMaskingSettings(DomainTuning):
    """Domain tuning, and how the tagger is trained afterwards."""

    extra: tuple[str, ...] = ()
    """Files of more text like the target's; see `acclimate select`."""
    extra_as_target: bool = False
    """Extra text counts as the target's own: the source is repeated to the size of both."""


def check_plan(tagger: Tagger, plan: Plan) -> None:
    options: AdversarialMaskingSettings = plan.options
    for file in options.extra:
        if not Path(file).exists():
            raise InputError("there is no such file of extra text.", file=file)
    usual = DomainTuning()
    for name in ("device", "precision", "tensorboard"):
        if getattr(options, name) != getattr(usual, name):
            raise UsageError(
                f"options.{name} has no effect in a recipe: set training.{name}, which holds for all of it."
            )


def adversarial_masking(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    yield domain_tuning(tagger, plan, plan.options)
    corpora = {SOURCE: plan.source.labelled()}
    yield Stage("task-tuning", {"tag": Tagging()}, plan.batches(tagger, corpora), plan.training)


def domain_tuning(
    tagger: Tagger, plan: Plan, options: AdversarialMaskingSettings, name: str = "domain-tuning"
) -> Stage:
    """Masked words of the target's text, of more like it, and of the source's beside them."""
    encoder = tagger.encoder
    assert isinstance(encoder, Transformer)
    target, extra = plan.target.unlabelled(), read_text(options.extra) if options.extra else None
    if extra is not None and options.extra_as_target:
        target, extra = target + extra, None
    return tuning_stage(encoder, guesser_for(encoder), plan.source, target, options, plan.seed, name, extra).stage
