"""Self-training: the tagger labels the target text itself and learns from what it is surest of.

The oldest way to use unlabelled text (Scudder 1965; Yarowsky 1995) and the plainest recipe that adapts: each round
tags the target, keeps the surest sentences, and goes on training on source and those together.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus
from acclimate.inference.predict import predict, sentence_confidences
from acclimate.methods.tagging import Tagging
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Plan, Recipe
from acclimate.settings import Settings
from acclimate.training.stage import Stage


class SelfTrainingSettings(Settings):
    """How often, how much, and how strongly the tagger believes itself."""

    rounds: int = Field(2, ge=1)
    """Number of rounds; in each, the tagger labels the target text and trains on its predictions."""
    keep: float = Field(0.5, gt=0, le=1)
    """Share of target sentences to train on, the most confident first."""
    weight: float = Field(0.5, gt=0)
    """Weight of the loss on self-labelled target sentences, relative to the loss on the source."""
    share: float = Field(0.25, gt=0)
    """Length of a round, as a share of the usual number of updates."""


def self_training(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    """Stages after plain training on the source, which the baseline has already done."""
    options: SelfTrainingSettings = plan.options
    training = plan.training
    for number in range(1, options.rounds + 1):
        believed = surest(tagger, plan.target, options.keep)
        batches = plan.batches(tagger, {SOURCE: plan.source.labelled(), TARGET: believed}, shift=number)
        updates = max(1, round(options.share * training.updates_for(batches.epoch_length)))
        yield Stage(
            f"round-{number}",
            {"tag": Tagging(), "believe": Tagging("target")},
            batches,
            training.model_copy(update={"updates": updates}),
            weights={"believe": options.weight},
        )


def surest(tagger: Tagger, target: Corpus, share: float) -> Corpus:
    """The target sentences whose tags the tagger is surest of, under those tags. True labels, where given, are kept."""
    text = target.filter(lambda sentence: sentence.tags is None)
    confidences = sentence_confidences(tagger, text)
    ranked = sorted(range(len(text)), key=lambda number: -confidences[number])
    kept = sorted(ranked[: max(1, round(share * len(text)))])
    believed = predict(tagger, text.select(kept))
    return Corpus.of((*target.labelled(), *believed), f"{target.name}, self-labelled", tagger.labels.kind)


SELF_TRAINING = Recipe(
    "self-training",
    "label the target text with the tagger itself, and learn from the surest sentences",
    self_training,
    SelfTrainingSettings,
    starts_from_baseline=True,
)
