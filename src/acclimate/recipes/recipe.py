"""What a recipe is: a name, its settings, and a generator of stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus
from acclimate.model.tagger import Tagger
from acclimate.settings import Settings
from acclimate.training.selectors import Selector
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage


@dataclass(frozen=True)
class Plan:
    """What a recipe is given. The target may hold a few labelled sentences; `target.labelled()` are those."""

    source: Corpus
    target: Corpus
    training: TrainingSettings
    options: Any  # the recipe's own settings, of the class that it names
    seed: int
    aside: Mapping[str, Corpus] = field(default_factory=dict)  # text of each domain to look at, not to learn from
    selector: Selector | None = None  # the run's own, for a recipe that chooses between its stages
    for_target: bool = False  # the tagger is one of the target's own, with the labels of its labelled sentences

    def batches(
        self,
        tagger: Tagger,
        corpora: Mapping[str, Corpus],
        shift: int = 0,
        pass_share: float = 1.0,
        beside: Batches | None = None,
    ) -> Batches:
        """Batches as the training settings want them. `shift` moves the seed: each round sees another order. An epoch
        is so great a share of a pass over the first corpus. Sentences are as long as those of `beside`."""
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


@dataclass(frozen=True)
class Sibling:
    """A tagger that is trained beside the one that is adapted and shares its encoder. It is kept, too."""

    name: str  # of its folder below `siblings`
    test: Callable[[Any], Corpus | None] = lambda options: None  # what to score it on, by the recipe's options


@dataclass(frozen=True)
class Recipe:
    """A generator of stages. Between two `yield`s the tagger has been trained, so that "last round's tagger teaches
    the next" is ordinary Python."""

    name: str
    summary: str
    stages: Callable[[Tagger, Plan], Iterator[Stage]]
    options: type[Settings] = Settings
    starts_from_baseline: bool = False  # its first stage would be plain training on the source: reuse the baseline's
    needs_target: bool = True
    usually_needs_target: bool = False  # its default settings do, others need not
    needs_labels: bool = False  # labelled target sentences, that is
    # given labelled target sentences, it trains a tagger of the target's own, whose words and labels need not be the
    # source's; what it is compared with is then the same tagger trained on those sentences alone
    for_target: bool = False
    for_other_labels: bool = False  # it does so where those sentences have labels that the source has not
    # what it makes of the tagger before it learns anything, in words; nothing where it leaves the tagger as it is. The
    # tagger that it is compared with is made so, too, or the change would measure the make and not the method
    remodel: Callable[[Tagger, Plan], tuple[str, ...]] = lambda tagger, plan: ()
    sibling: Sibling | None = None  # of a stage that trains two taggers
    needs_language_model: bool = False  # the tagger must stand on a masked language model
    needs_entities: bool = False  # it has nothing to do where tags are plain
    exchanges_entities: bool = False  # by default, those of both domains, where target sentences are labelled
    # labelled text of yet another task, that its options name: the tagger should know its words
    reads: Callable[[Any], Corpus | None] = lambda options: None
    remarks: Callable[[Sequence[Mapping[str, Any]]], tuple[str, ...]] = lambda rows: ()  # on the record of its run
    # remarks on what tagger and data do not allow
    foretells: Callable[[Tagger, Plan], tuple[str, ...]] = lambda tagger, plan: ()
    # names that its settings may use, a line each, by what they are names of
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # raises what would otherwise be told after the baseline's training
    check: Callable[[Tagger, Plan], None] = lambda tagger, plan: None

    def trains_target(self, source: Corpus, target_labelled: Corpus | None) -> bool:
        """Whether the tagger is one of the target's own, with the labels of these sentences."""
        if target_labelled is None:
            return False
        return self.for_target or (self.for_other_labels and has_other_labels(source, target_labelled))


def has_other_labels(source: Corpus, target_labelled: Corpus) -> bool:
    """Whether labelled target sentences have labels that the source does not teach, or tags of another kind."""
    if not len(target_labelled):
        return False
    return target_labelled.kind != source.kind or not set(target_labelled.labels) <= set(source.labels)
