"""How sure a tagger is."""

from __future__ import annotations

import torch

from acclimate.data.batches import plan
from acclimate.data.corpus import Corpus
from acclimate.inference.predict import listening
from acclimate.model.tagger import Tagger
from acclimate.model.view import View


def word_confidences(tagger: Tagger, corpus: Corpus, words_per_batch: int = 8192) -> list[list[float]]:
    """The probability of the decoded tag at each word, under the head's own marginals."""
    unlabelled = corpus.unlabelled()
    found: list[list[float]] = [[] for _ in corpus]
    with listening(tagger), torch.inference_mode():
        for numbers in plan([len(sentence) for sentence in unlabelled], words_per_batch):
            sentences = [unlabelled[number] for number in numbers]
            view = View(tagger, tagger.number(sentences).to(tagger.device))
            decoded = tagger.head.decode(view.scores, view.sentences.mask)
            sure = view.marginals.gather(-1, decoded.unsqueeze(-1)).squeeze(-1)
            for number, row in zip(numbers, sure.tolist(), strict=True):
                found[number] = row[: len(unlabelled[number])]
    return found


def sentence_confidences(tagger: Tagger, corpus: Corpus) -> list[float]:
    """The least sure word speaks for its sentence: one wrong tag spoils it."""
    return [min(row) for row in word_confidences(tagger, corpus)]
