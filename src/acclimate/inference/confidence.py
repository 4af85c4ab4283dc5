"""How sure a tagger is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from acclimate.data.corpus import Corpus
from acclimate.data.schemes import OUTSIDE, Span, split_tag
from acclimate.inference.predict import decode, views
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


@dataclass(frozen=True, slots=True)
class TermGuess:
    """What a tagger takes a gold span for, and how sure it is."""

    sentence: int
    span: Span
    predicted: str  # a label, or O
    probability: float


def guess_terms(
    tagger: Tagger, gold: Corpus, words_per_batch: int = 8192, progress: Callable[[int], None] | None = None
) -> list[TermGuess]:
    """The class of every gold span, and its probability: the mean over the span's words of the marginal probabilities
    of all tags of that label. O is a class, too. The tagger does not see the tags."""
    classes = sorted({_class_of(tag) for tag in tagger.tags})
    members = torch.zeros(len(tagger.tags), len(classes))  # (tag, class)
    for number, tag in enumerate(tagger.tags):
        members[number, classes.index(_class_of(tag))] = 1
    guesses: list[TermGuess] = []
    for numbers, view in views(tagger, gold, words_per_batch):
        shares = (view.marginals.float() @ members.to(view.marginals.device)).cpu()  # (sentence, word, class)
        for number, row in zip(numbers, shares, strict=True):
            for span in gold[number].spans:
                probability, best = row[span.start : span.end].mean(0).max(0)
                guesses.append(TermGuess(number, span, classes[int(best)], float(probability)))
        if progress is not None:
            progress(len(numbers))
    return sorted(guesses, key=lambda guess: (guess.sentence, guess.span.start))


def _class_of(tag: str) -> str:
    return split_tag(tag)[1] or OUTSIDE
