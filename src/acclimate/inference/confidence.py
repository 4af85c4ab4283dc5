"""How sure a tagger is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from acclimate.data.corpus import Corpus
from acclimate.data.schemes import OUTSIDE, Span, split_tag
from acclimate.inference.predict import answers
from acclimate.model.tagger import Tagger
from acclimate.model.view import View


def word_confidences(tagger: Tagger, corpus: Corpus, words_per_batch: int = 8192) -> list[list[float]]:
    """The probability of the decoded tag at each word, under the head's own marginals."""
    found: list[list[float]] = [[] for _ in corpus]
    for number, row in answers(tagger, corpus, _sureness, words_per_batch):
        found[number] = row.tolist()
    return found


def _sureness(view: View) -> Tensor:
    return view.marginals.gather(-1, view.decoded.unsqueeze(-1)).squeeze(-1)


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

    def shares_of(view: View) -> Tensor:  # (sentence, word, class)
        return view.marginals.float() @ members.to(view.marginals.device)

    guesses: list[TermGuess] = []
    for number, shares in answers(tagger, gold, shares_of, words_per_batch, progress):
        for span in gold[number].spans:
            probability, best = shares[span.start : span.end].mean(0).max(0)
            guesses.append(TermGuess(number, span, classes[int(best)], float(probability)))
    return sorted(guesses, key=lambda guess: (guess.sentence, guess.span.start))


def _class_of(tag: str) -> str:
    return split_tag(tag)[1] or OUTSIDE
