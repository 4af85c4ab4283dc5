"""How far annotators can be trusted, by their agreement alone (Dawid and Skene 1979, with one number for each).

The model: each word has a true tag, which nobody knows. An annotator names it with a probability of his own, his
reliability, and else any of the other tags alike. A guess with a score counts as that part of an answer. The
expectation-maximization algorithm finds the reliabilities under which the answers are most probable.

Only words count where two or more looked and one at least guesses a span: nearly all agree that the others are O.
Agreement cannot tell which of two annotators is right; they weigh alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import AnnotatorNote
from acclimate.data.schemes import OUTSIDE
from acclimate.data.soft_labels import Row, mixed

Guesses = Mapping[str, Sequence[Row]]
"""The distributions of a sentence's words, by who guessed them."""

Answers = NDArray[np.float64]
"""(word, annotator, tag): the probability that an annotator gives a tag; all 0 where he did not look."""

_TURNS, _CLOSE = 100, 1e-7
_LEAST = 0.1  # that an annotator weighs


def pool(sentences: Sequence[Guesses]) -> tuple[list[list[Row]], tuple[AnnotatorNote, ...]]:
    """For each sentence the mean of its annotators' distributions, by weight; and what was found out about each."""
    names = sorted({name for guesses in sentences for name in guesses})
    answers = answers_of(sentences, names)
    trust = reliabilities(answers)
    if len(names) == 2:
        trust[:] = trust.mean()
    weights = dict(zip(names, weights_of(trust, answers.shape[2]).tolist(), strict=True))
    pooled = [mixed(list(guesses.values()), [weights[name] for name in guesses]) for guesses in sentences]
    counts = {name: sum(name in guesses for guesses in sentences) for name in names}
    notes = zip(names, trust.tolist(), strict=True)
    return pooled, tuple(AnnotatorNote(name, counts[name], trust, weights[name]) for name, trust in notes)


def answers_of(sentences: Sequence[Guesses], names: Sequence[str]) -> Answers:
    """What was answered at the words that tell annotators apart."""
    words: list[dict[str, Row]] = []
    for guesses in sentences:
        if len(guesses) > 1:
            at_words = (dict(zip(guesses, rows, strict=True)) for rows in zip(*guesses.values(), strict=True))
            words += (word for word in at_words if any(row.keys() - {OUTSIDE} for row in word.values()))
    tags = sorted({OUTSIDE, *(tag for word in words for row in word.values() for tag in row)})
    answers = np.zeros((len(words), len(names), max(2, len(tags))))
    places = {name: place for place, name in enumerate(names)}
    numbers = {tag: number for number, tag in enumerate(tags)}
    for answer, word in zip(answers, words, strict=True):
        for name, row in word.items():
            for tag, probability in row.items():
                answer[places[name], numbers[tag]] = probability
    return answers


def reliabilities(answers: Answers) -> NDArray[np.float64]:
    """The probability that each annotator names the true tag, (annotator). Two answers more than there are, one right
    and one wrong, keep it off 0 and 1."""
    truth = answers.sum(1) / np.maximum(answers.sum((1, 2)), 1)[:, None]  # (word, tag)
    found = trust_of(answers, truth)
    for _ in range(_TURNS):
        before, truth = found, truth_of(answers, found)
        found = trust_of(answers, truth)
        if np.abs(found - before).max(initial=0) < _CLOSE:
            break
    return found


def trust_of(answers: Answers, truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Reliabilities, where the true tags are known by their probabilities (word, tag)."""
    agreed = np.einsum("wat,wt->a", answers, truth)
    return np.asarray((agreed + 1) / (answers.sum((0, 2)) + 2))


def truth_of(answers: Answers, trust: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability of each true tag (word, tag), where the reliabilities are known."""
    logarithms = np.einsum("wat,a->wt", answers, _log_odds(trust, answers.shape[2]))
    truth = np.exp(logarithms - logarithms.max(1, initial=-np.inf, keepdims=True))
    return np.asarray(truth / truth.sum(1, keepdims=True))


def weights_of(trust: NDArray[np.float64], tags: int) -> NDArray[np.float64]:
    """What an annotator's answer weighs: the logarithm of how much it raises the odds of a tag. It weighs little, and
    not nothing, if he is right no more often than chance."""
    return np.maximum(_log_odds(trust, tags), _LEAST)


def _log_odds(trust: NDArray[np.float64], tags: int) -> NDArray[np.float64]:
    return np.asarray(np.log(trust * (tags - 1) / (1 - trust)))
