"""How sure a tagger is."""

from __future__ import annotations

from acclimate.data.corpus import Corpus
from acclimate.inference.predict import decode
from acclimate.model.tagger import Tagger


def word_confidences(tagger: Tagger, corpus: Corpus, words_per_batch: int = 8192) -> list[list[float]]:
    """The probability of the decoded tag at each word, under the head's own marginals."""
    found: list[list[float]] = [[] for _ in corpus]
    for numbers, view, decoded in decode(tagger, corpus, words_per_batch):
        sure = view.marginals.gather(-1, decoded.unsqueeze(-1)).squeeze(-1)
        for number, row in zip(numbers, sure.tolist(), strict=True):
            found[number] = row[: len(corpus[number])]
    return found


def sentence_confidences(tagger: Tagger, corpus: Corpus) -> list[float]:
    """The least sure word speaks for its sentence: one wrong tag spoils it."""
    return [min(row) for row in word_confidences(tagger, corpus)]
