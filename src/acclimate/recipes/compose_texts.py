"""What a composed stage learns from, by the names people type, and the batches that are made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from acclimate.data.batches import SOURCE, TARGET, Stream
from acclimate.data.corpus import Corpus
from acclimate.data.joined import Joined
from acclimate.methods.augmentation.anchor_notes import Anchored
from acclimate.methods.augmentation.edit_notes import Edited
from acclimate.model.tagger import Tagger
from acclimate.recipes.compose_edits import EditName, edited_pairs
from acclimate.recipes.compose_groups import sides_of
from acclimate.recipes.compose_objectives import OBJECTIVES
from acclimate.recipes.compose_settings import StageSettings
from acclimate.recipes.pdaln import exchanged
from acclimate.recipes.recipe import Plan
from acclimate.recipes.self_training import surest
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Watch


@dataclass(frozen=True)
class Found:
    """Text of a stage, and what tells the run's record how it was made."""

    corpus: Corpus
    watches: tuple[Watch, ...] = ()


Text = Callable[[Tagger, Plan, StageSettings, int], Found]


def unlabelled(plan: Plan) -> Corpus:
    """The target's sentences that nobody has labelled."""
    return plan.target.filter(lambda sentence: sentence.tags is None)


def pseudo_labelled(tagger: Tagger, plan: Plan, stage: StageSettings, number: int) -> Found:
    """The target under the tagger's own tags, where it is surest of them; true labels stay."""
    return Found(surest(tagger, plan.target, stage.keep))


def anchored(tagger: Tagger, plan: Plan, stage: StageSettings, number: int) -> Found:
    """Sentences of both domains with entities of the other one."""
    made = exchanged(plan.source.labelled(), plan.target.labelled(), stage.anchors, plan.seed * 1_000 + number)
    return Found(made.corpus, (Anchored(made.variants),))


def edited_by(name: EditName) -> Text:
    """Labelled sentences of both domains, edited; those in which nothing can be edited are left out."""

    def found(tagger: Tagger, plan: Plan, stage: StageSettings, number: int) -> Found:
        pairs = list(edited_pairs(name, tagger, plan, stage.edits, number))
        corpus = Corpus.of((edited for _, edited in pairs), f"{plan.source.name}, {name}", tagger.labels.kind)
        return Found(corpus, (Edited(name, pairs),))

    return found


TEXTS: dict[str, Text] = {
    "source": lambda tagger, plan, stage, number: Found(plan.source.labelled()),
    "target": lambda tagger, plan, stage, number: Found(unlabelled(plan)),
    "target-labelled": lambda tagger, plan, stage, number: Found(plan.target.labelled()),
    "pseudo-labelled": pseudo_labelled,
    "anchors": anchored,
    "synonyms": edited_by("synonyms"),
    "deletion": edited_by("deletion"),
}
LABELLED = set(TEXTS) - {"target"}  # those that have tags


def learns_of(stage: StageSettings, plan: Plan) -> tuple[str, ...]:
    """What is learnt: what was named, or the source; MSLM learns all that is labelled."""
    if stage.learns is not None:
        return stage.learns
    few = stage.mslm is not None and len(plan.target.labelled())
    return ("source", "target-labelled") if few else ("source",)


def beside_of(stage: StageSettings, plan: Plan) -> tuple[str, ...]:
    """What stands beside: what was named, or the target as it is where an objective looks there."""
    if stage.beside is not None:
        return stage.beside
    looks = any(
        OBJECTIVES[name].needs & {"beside", "labels beside", "text beside"} or "target" in sides_of(term.settings)
        for name, term in stage.objectives.items()
    )
    there = (("target-labelled", plan.target.labelled()), ("target", unlabelled(plan)))
    return tuple(name for name, corpus in there if looks and len(corpus))


def batches_for(tagger: Tagger, plan: Plan, text: Corpus, beside: Sequence[Corpus], shift: int = 0) -> Stream:
    """A batch of what is learnt, and in it as much of what is beside, all of its corpora in equal parts."""
    if not beside:
        return plan.batches(tagger, {SOURCE: text}, shift)
    if len(beside) == 1:
        return plan.batches(tagger, {SOURCE: text, TARGET: beside[0]}, shift)
    part = replace(plan, training=_part_of(plan.training, len(beside)))
    source = plan.batches(tagger, {SOURCE: text}, shift)
    streams = [part.batches(tagger, {TARGET: corpus}, shift, beside=source) for corpus in beside]
    return Joined({SOURCE: [source], TARGET: streams})


def _part_of(training: TrainingSettings, parts: int) -> TrainingSettings:
    sentences = training.sentences_per_batch
    return training.model_copy(
        update={
            "words_per_batch": max(1, training.words_per_batch // parts),
            "sentences_per_batch": None if sentences is None else max(1, sentences // parts),
        }
    )
