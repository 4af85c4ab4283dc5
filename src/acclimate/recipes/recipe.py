"""What a recipe is: a name, its settings, and a generator of stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus
from acclimate.model.tagger import Tagger
from acclimate.settings import Settings
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

    def batches(self, tagger: Tagger, corpora: Mapping[str, Corpus], shift: int = 0) -> Batches:
        """Batches as the training settings want them. `shift` moves the seed: each round sees another order."""
        settings = self.training
        return Batches(
            corpora,
            settings.words_per_batch,
            settings.sentences_per_batch,
            self.seed + shift,
            tagger.encoder.count_pieces,
        )


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
    needs_language_model: bool = False  # the tagger must stand on a masked language model
    check: Callable[[Plan], None] = lambda plan: (
        None
    )  # raises what would otherwise be told after the baseline's training
