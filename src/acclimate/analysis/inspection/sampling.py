"""Random sentences of a corpus, so that big ones take no longer than small ones."""

from __future__ import annotations

from random import Random

from acclimate.data.corpus import Corpus


def sampled(corpus: Corpus, most: int, seed: int = 0) -> Corpus:
    """So many sentences at most, in random order: the first ones of a sample are a sample, too."""
    return corpus.select(Random(seed).sample(range(len(corpus)), min(most, len(corpus))))


def within(corpus: Corpus, words: int) -> Corpus:
    """The first sentences that have so many words together at most, and at least one sentence."""
    total = 0
    for number, sentence in enumerate(corpus):
        total += len(sentence)
        if total > words and number:
            return corpus[:number]
    return corpus
