"""What PDALN cannot do, told before anything is trained."""

from __future__ import annotations

from acclimate.data.problems import InputError
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm
from acclimate.model.tagger import Tagger
from acclimate.recipes.pdaln import round_text
from acclimate.recipes.pdaln_edits import check_edits
from acclimate.recipes.pdaln_settings import PdalnSettings
from acclimate.recipes.recipe import Plan
from acclimate.settings import UsageError


def check_plan(tagger: Tagger, plan: Plan) -> None:
    options: PdalnSettings = plan.options
    check_mu(tagger, options)
    check_edits(tagger, plan)
    if not plan.target.labelled():
        check_unlabelled(options)
        return
    if options.variant == "mean-teacher" and all(sentence.tags is not None for sentence in plan.target):
        raise UsageError("options.variant=mean-teacher learns from unlabelled target text: give --target as well.")
    if options.variant == "vat" and options.virtual.kind == "mat" and not any(noise_sizes(tagger, options)):
        raise UsageError("options.variant=vat needs noise: set options.virtual.radius above 0.")
    if options.augment and options.rounds:
        check_anchors(plan)


def check_mu(tagger: Tagger, options: PdalnSettings) -> None:
    unknown = [tag for tag in options.mu if tag not in tagger.tags] if isinstance(options.mu, dict) else []
    if unknown:
        raise UsageError(f"options.mu: {unknown[0]!r} is none of the tagger's tags, {', '.join(tagger.tags)}.")


def check_unlabelled(options: PdalnSettings) -> None:
    """Equation 8 is all there is."""
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
        text = round_text(plan, 1)
    except InputError as problem:
        raise InputError(f"{problem} Without exchanged entities: options.augment=false.") from None
    if not len(text):
        raise InputError(
            "no entity of the labelled target sentences has another one of its type in the source, or the other way "
            "round: nothing can be exchanged. Without that: options.augment=false."
        )


def noise_sizes(tagger: Tagger, options: PdalnSettings) -> tuple[float, ...]:
    radius = options.virtual.radius
    lstm = isinstance(tagger.encoder, CharacterCnnLstm)
    return (radius.words, radius.characters) if lstm else (radius.pieces,)
