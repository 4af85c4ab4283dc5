"""Selectors: which state of a training run to keep, and on which split that was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from acclimate.data.corpus import Corpus
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.model.tagger import Tagger


class Selector(Protocol):
    """Gives a learner a number, the higher the better. Its name goes into every report."""

    @property
    def name(self) -> str: ...

    @property
    def is_blind(self) -> bool:
        """True when it prefers nothing: the last state is kept."""
        ...

    def __call__(self, learner: Any, /) -> float: ...


@dataclass(frozen=True)
class DevelopmentScore:
    """Span F1 (accuracy for plain tags) on held-out labelled sentences of a named split."""

    corpus: Corpus
    split: str = "source dev"
    is_blind: bool = False

    @property
    def name(self) -> str:
        measure = "accuracy" if self.corpus.kind == "plain" else "span F1"
        return f"{measure} on {self.split} ({len(self.corpus):,} sentences)"

    def __call__(self, tagger: Tagger) -> float:
        scores = score(self.corpus, predict(tagger, self.corpus))
        return scores.token.accuracy if self.corpus.kind == "plain" else scores.span.f1


@dataclass(frozen=True)
class LastUpdate:
    """No choice at all: train to the end and keep that."""

    name: str = "last update"
    is_blind: bool = True

    def __call__(self, learner: object) -> float:
        return 0.0
