"""Tag a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from acclimate.data.batches import plan
from acclimate.data.corpus import Corpus
from acclimate.model.listening import listening
from acclimate.model.tagger import Tagger, tags_of
from acclimate.model.view import View


def predict(
    tagger: Tagger,
    corpus: Corpus,
    words_per_batch: int = 8192,
    progress: Callable[[int], None] | None = None,
) -> Corpus:
    """The same sentences under the tagger's own tags, one per word, in the same order.

    Gold tags are dropped first: what a tagger is given to predict from never holds the answer. `words_per_batch` is
    the most that is read at once, padding counted; for a pre-trained encoder it counts pieces.
    """
    tags: list[list[str]] = [[] for _ in corpus]
    for numbers, view, decoded in decode(tagger, corpus, words_per_batch):
        lengths = [len(sentence) for sentence in view.sentences.originals]
        for number, row in zip(numbers, tags_of(tagger, decoded, lengths), strict=True):
            tags[number] = row
        if progress is not None:
            progress(len(numbers))
    predicted = corpus.unlabelled().with_tags(tags)
    return Corpus(predicted.sentences, f"{corpus.name}, predicted", tagger.labels.kind, corpus.notes)


def decode(tagger: Tagger, corpus: Corpus, words_per_batch: int = 8192) -> Iterator[tuple[list[int], View, Tensor]]:
    """Batch by batch: which sentences, how the tagger sees them, and the tags it decides on (sentence, word)."""
    for numbers, view in views(tagger, corpus, words_per_batch):
        yield numbers, view, view.decoded


def views(tagger: Tagger, corpus: Corpus, words_per_batch: int = 8192) -> Iterator[tuple[list[int], View]]:
    """Batch by batch, without dropout, gradients and gold tags: which sentences, and how the tagger sees them."""
    unlabelled = corpus.unlabelled()
    with listening(tagger), torch.inference_mode():
        for numbers in _planned(tagger, unlabelled, words_per_batch):
            yield numbers, tagger.view([unlabelled[number] for number in numbers])


def _planned(tagger: Tagger, corpus: Corpus, words_per_batch: int) -> list[list[int]]:
    """Sentences of like length together. A pre-trained encoder pays for padding in pieces, so its own count decides:
    sentences of as many words may differ by half in that."""
    pieces = tagger.encoder.count_pieces(corpus)
    if pieces is None:
        return plan([len(sentence) for sentence in corpus], words_per_batch)
    most = min(words_per_batch, tagger.encoder.pieces_at_once) if tagger.device.type == "cpu" else words_per_batch
    return plan(pieces, most)
