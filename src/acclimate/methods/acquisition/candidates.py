"""What an acquisition can ask of the sentences among which it chooses; each answer is computed once, on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Corpus
from acclimate.methods.acquisition.features import sentence_features
from acclimate.methods.acquisition.settings import AcquisitionSettings
from acclimate.model.text_tagger import TextTagger

Scores = NDArray[np.float64]
"""One number per sentence; the higher, the sooner it is labelled."""


@dataclass(frozen=True)
class Candidates:
    """Sentences to choose from, and the taggers that can be asked about them.

    `earlier` are the taggers of former rounds, the oldest first. `known` is what is labelled already. `text` is a
    random part of the whole pool. `seed` decides all that is random.
    """

    sentences: Corpus
    tagger: TextTagger | None = None
    earlier: Sequence[TextTagger] = ()
    known: Corpus = field(default_factory=lambda: Corpus(()))
    text: Corpus | None = None
    seed: int = 0
    settings: AcquisitionSettings = field(default_factory=AcquisitionSettings)

    @property
    def tagger_at_hand(self) -> TextTagger:
        assert self.tagger is not None, "this acquisition needs a tagger: see the catalogue"
        return self.tagger

    @cached_property
    def marginals(self) -> list[NDArray[Any]]:
        """The probability of each tag at each word, (word, tag), of every sentence."""
        return marginals_of(self.tagger_at_hand, self.sentences)

    @cached_property
    def features(self) -> NDArray[np.float32]:
        """A unit vector for each sentence, (sentence, feature)."""
        return self._features[: len(self.sentences)]

    @cached_property
    def text_features(self) -> NDArray[np.float32]:
        """The same of the part of the pool that stands for the whole; of the sentences themselves without one."""
        return self.features if self.text is None else self._features[len(self.sentences) : self._ends[1]]

    @cached_property
    def known_features(self) -> NDArray[np.float32]:
        """The same of what is labelled."""
        return self._features[self._ends[1] :]

    @property
    def _ends(self) -> tuple[int, int]:
        size = len(self.sentences)
        return size, size + (0 if self.text is None else len(self.text))

    @cached_property
    def _features(self) -> NDArray[np.float32]:
        """Of all of them together: how rare a character n-gram is, is counted over all."""
        parts = (self.sentences, self.text or (), self.known)
        return sentence_features([sentence.words for part in parts for sentence in part])


def marginals_of(tagger: TextTagger, corpus: Corpus) -> list[NDArray[Any]]:
    found: list[NDArray[Any]] = [np.empty(0)] * len(corpus)
    for number, probabilities in tagger.read(corpus, "probabilities"):
        found[number] = probabilities.astype(np.float64)
    return found
