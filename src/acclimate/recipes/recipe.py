"""What a recipe is: a name, its settings, and a generator of stages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch

from acclimate.data.batches import SOURCE, TARGET, Batches, Joined, Stream
from acclimate.data.corpus import Corpus
from acclimate.model.tagger import Tagger
from acclimate.settings import Settings, complete
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import DevelopmentScore, Selector, Stage

TUNING_STAGE = "domain-tuning"  # the name of a stage of domain tuning


@dataclass(frozen=True)
class Plan:
    """What a recipe is given. The target may hold a few labelled sentences; `target.labelled()` are those."""

    source: Corpus
    target: Corpus
    training: TrainingSettings
    options: Any  # the recipe's own settings, of the class that it names
    seed: int
    aside: Mapping[str, Corpus] = field(default_factory=dict)  # text of each domain that is not learnt from
    selector: Selector | None = None  # the run's own
    for_target: bool = False  # the tagger has the labels of the labelled target sentences
    new_labels: tuple[str, ...] = ()  # labels that the given tagger has not learnt yet
    remarks: list[str] = field(default_factory=list)  # what the recipe adds for the user to read at the end

    def batches(
        self,
        tagger: Tagger,
        corpora: Mapping[str, Corpus],
        shift: int = 0,
        pass_share: float = 1.0,
        beside: Batches | None = None,
    ) -> Batches:
        """Batches as the training settings want them. `shift` changes the seed; an epoch is `pass_share` of a pass over
        the first corpus; sentences are as long as those of `beside`."""
        settings = self.training
        return Batches(
            corpora,
            settings.words_per_batch,
            settings.sentences_per_batch,
            self.seed + shift,
            tagger.encoder.count_pieces,
            pass_share,
            beside,
        )

    def batches_beside(self, tagger: Tagger, text: Corpus, beside: Sequence[Corpus], shift: int = 0) -> Stream:
        """Batches with the text as the source half, and the other corpora, in equal parts, as the target half."""
        if not beside:
            return self.batches(tagger, {SOURCE: text}, shift)
        if len(beside) == 1:
            return self.batches(tagger, {SOURCE: text, TARGET: beside[0]}, shift)
        words, sentences = self.training.words_per_batch, self.training.sentences_per_batch
        sizes = {
            "words_per_batch": max(1, words // len(beside)),
            "sentences_per_batch": None if sentences is None else max(1, sentences // len(beside)),
        }
        part = replace(self, training=self.training.model_copy(update=sizes))
        source = self.batches(tagger, {SOURCE: text}, shift)
        streams = [part.batches(tagger, {TARGET: corpus}, shift, beside=source) for corpus in beside]
        return Joined({SOURCE: [source], TARGET: streams})


@dataclass(frozen=True)
class Sibling:
    """A tagger that is trained beside the adapted one, shares its encoder, and is kept, too."""

    name: str  # of its folder below `siblings`
    # by the recipe's options: labelled text that only the sibling learns, and text to score it on
    text: Callable[[Any], Corpus | None] = lambda options: None
    test: Callable[[Any], Corpus | None] = lambda options: None


Need = Literal[
    "target", "target by default", "target labels", "language model", "entities", "entities beside target labels"
]
"""What a recipe needs: target sentences (also by default only), labelled ones, a masked language model as encoder, tags
of entities (also only where target sentences are labelled)."""

OwnTagger = Literal["never", "always", "other labels"]
"""When labelled target sentences get a tagger with their own words and labels: never, always, or when they have labels
that the source has not. Its baseline learns those sentences alone."""


@dataclass(frozen=True)
class Recipe:
    """A generator of stages. Between two `yield`s the tagger has been trained on the first one's stage."""

    name: str
    summary: str
    stages: Callable[[Tagger, Plan], Iterator[Stage]]
    options: type[Settings] = Settings
    needs: frozenset[Need] = frozenset({"target"})
    needs_source: bool = True  # without one it has nothing to learn the tags from
    own_tagger: OwnTagger = "never"
    starts_from_baseline: bool = False  # its first stage would be plain training on the source: reuse the baseline's
    # raises an error for what tagger, data and options do not allow; returns warnings
    check: Callable[[Tagger, Plan], tuple[str, ...]] = lambda tagger, plan: ()
    # changes the tagger before it learns, and says how; the baseline's tagger is changed in the same way
    remodel: Callable[[Tagger, Plan], tuple[str, ...]] = lambda tagger, plan: ()
    sibling: Sibling | None = None  # of a stage that trains two taggers

    def complete(self, options: Mapping[str, Any]) -> Settings:
        """Its settings, checked and completed."""
        return complete(self.options, options, where=f"options of recipe {self.name}")

    def trains_target(self, source: Corpus, target_labelled: Corpus | None) -> bool:
        """Whether the tagger is one of the target's own, with the labels of these sentences."""
        if target_labelled is None or self.own_tagger == "never":
            return False
        return self.own_tagger == "always" or has_other_labels(source, target_labelled)


def unlabelled(plan: Plan) -> Corpus:
    """The target sentences without labels."""
    return plan.target.filter(lambda sentence: sentence.tags is None)


def has_other_labels(source: Corpus, target_labelled: Corpus) -> bool:
    """Whether labelled target sentences have labels that the source does not teach, or tags of another kind."""
    if not len(target_labelled):
        return False
    return target_labelled.kind != source.kind or not set(target_labelled.labels) <= set(source.labels)


def chooses(plan: Plan) -> bool:
    """Whether a selector compares the states of a stage."""
    return plan.selector is not None and not plan.selector.is_blind


def chooses_for_target(plan: Plan) -> bool:
    """Whether that selector scores the target."""
    return isinstance(plan.selector, DevelopmentScore) and plan.selector.of_target


def evaluated_often(training: TrainingSettings, batches: Stream, evaluations: int) -> TrainingSettings:
    """The same with at least so many evaluations; the patience, counted in evaluations, lasts as long as before."""
    usual = training.evaluate_every or max(1, round(training.updates_per_epoch(batches.epoch_length)))
    every = min(usual, max(1, training.updates_for(batches.epoch_length) // evaluations))
    patience = None if training.patience is None else math.ceil(training.patience * usual / every)
    return training.model_copy(update={"evaluate_every": every, "patience": patience})


def some_passes(training: TrainingSettings, epochs: float, batches: Stream) -> TrainingSettings:
    """The same with so many passes, and never more updates than before."""
    passes = training.model_copy(update={"epochs": epochs, "updates": None})
    updates = passes.updates_for(batches.epoch_length)
    return passes.model_copy(update={"updates": min(updates, training.updates or updates)})


def shortened(training: TrainingSettings, share: float, batches: Stream) -> TrainingSettings:
    """The same with a share of the updates."""
    updates = max(1, round(share * training.updates_for(batches.epoch_length)))
    return training.model_copy(update={"updates": updates})


def same_weights(one: Tagger, other: Tagger) -> bool:
    """Whether two taggers have equal weights, which tells that a round was undone."""
    theirs = other.state_dict()
    return all(torch.equal(value, theirs[name]) for name, value in one.state_dict().items())
