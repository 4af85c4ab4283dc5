"""What other methods are compared with: no adaptation, labelled target text alone, self-training and La-DTL."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from acclimate import layout
from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus
from acclimate.inference.predict import predict, sentence_confidences
from acclimate.methods.alignment.mmd import BANK, WordDiscrepancy
from acclimate.methods.objective import Objective, Tagging, TaggingOfAll
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Plan, Recipe, shortened
from acclimate.settings import Settings
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage

LEAST_UPDATES = 500  # on labelled target sentences: a few of them make very short epochs


def source_only(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    batches = plan.batches(tagger, {SOURCE: plan.source.labelled()})
    yield Stage("source", {"tag": Tagging()}, batches, plan.training)


def target_only(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    batches = plan.batches(tagger, {SOURCE: plan.target.labelled()})
    yield Stage("target", {"tag": Tagging()}, batches, long_enough(plan.training, batches.epoch_length, LEAST_UPDATES))


def long_enough(training: TrainingSettings, epoch_length: int, least: int) -> TrainingSettings:
    """The training settings, with more updates for a short text, unless the number of updates is set."""
    if training.updates is not None or training.updates_for(epoch_length) >= least:
        return training
    every = max(1, least // 20) if training.evaluate_every is None else training.evaluate_every
    return training.model_copy(update={"updates": least, "evaluate_every": every})


BASELINE = Recipe(layout.BASELINE, "no adaptation: train on the labelled source alone", source_only, needs=frozenset())
TARGET_ONLY = Recipe(
    "target-only",
    "no transfer: train on the labelled target sentences alone",
    target_only,
    needs=frozenset({"target", "target labels"}),
    needs_source=False,
    own_tagger="always",
)
START = Recipe(
    "start",
    "no training: the tagger that was given, as it is",
    lambda tagger, plan: iter(()),
    needs=frozenset(),
    needs_source=False,
)
"""The "before" of a run without a source. It trains nothing, so nobody needs to name it."""


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
    """Rounds of pseudo-labelling (Scudder 1965; Yarowsky 1995) after plain training on the source."""
    options: SelfTrainingSettings = plan.options
    for number in range(1, options.rounds + 1):
        labelled = most_confident(tagger, plan.target, options.keep)
        batches = plan.batches(tagger, {SOURCE: plan.source.labelled(), TARGET: labelled}, shift=number)
        objectives = {"tag": Tagging(), "believe": Tagging("target")}
        training = shortened(plan.training, options.share, batches)
        yield Stage(f"round-{number}", objectives, batches, training, weights={"believe": options.weight})


def most_confident(tagger: Tagger, target: Corpus, share: float) -> Corpus:
    """The target sentences under the tagger's most confident predictions; true labels are kept."""
    text = target.filter(lambda sentence: sentence.tags is None)
    confidences = sentence_confidences(tagger, text)
    ranked = sorted(range(len(text)), key=lambda number: -confidences[number])
    chosen = sorted(ranked[: max(1, round(share * len(text)))])
    labelled = predict(tagger, text.select(chosen))
    return Corpus.of((*target.labelled(), *labelled), f"{target.name}, self-labelled", tagger.labels.kind)


SELF_TRAINING = Recipe(
    "self-training",
    "label the target text with the tagger itself, and learn from the most confident sentences",
    self_training,
    SelfTrainingSettings,
    starts_from_baseline=True,
)


class LaDtlSettings(Settings):
    """How strongly words of one label are drawn together."""

    weight: float = Field(0.02, ge=0)
    """Weight of the discrepancy of each tag; 0: only train on the source and the labelled target sentences."""
    floor: float = Field(1e-4, ge=0)
    """Ignore the gradient of discrepancies below this value."""


def la_dtl(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    """La-DTL (Wang et al. 2018): words of one label are made alike in both domains. Both have one CRF here, so the
    paper's second half, a target CRF that is kept near the source's, is left out."""
    options: LaDtlSettings = plan.options
    objectives: dict[str, Objective] = {"tag": TaggingOfAll("sentence")}
    if options.weight > 0:
        objectives["words"] = WordDiscrepancy(options.weight, BANK, floor=options.floor)
    batches = plan.batches(tagger, {SOURCE: plan.source.labelled(), TARGET: plan.target.labelled()})
    yield Stage("la-dtl", objectives, batches, plan.training)


LA_DTL = Recipe(
    "la-dtl",
    "make words of the same label alike in both domains, given labelled target sentences",
    la_dtl,
    LaDtlSettings,
    needs=frozenset({"target", "target labels"}),
)
