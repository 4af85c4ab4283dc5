"""Several annotators or taggers of the same text: votes, means, and how reliable each of them is.

`agreed`, `voted` and `averaged` join the answers of a committee, which have the same sentences in the same order.

`pool` weighs annotators by their agreement (Dawid and Skene 1979, with one number for each). An annotator gives the
true tag with the probability of his reliability, and else any other tag alike. Expectation-maximization finds the
reliabilities under which the answers are most probable. Only words count that two or more annotated and where one
guesses a span. Two annotators weigh alike, since agreement cannot tell which is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import AnnotatorNote, Corpus, Sentence
from acclimate.data.schemes import ANY_LABEL, OUTSIDE, Span, open_tag
from acclimate.data.soft_labels import Row, coherent, mixed, softened


def agreed(answers: Sequence[Corpus]) -> Corpus:
    """The spans that all members found; words of other spans may be anything (`O|*`). Plain tags are voted on."""
    if answers[0].kind == "plain":
        return voted(answers)
    return _joined(answers, _agreed)


def voted(answers: Sequence[Corpus]) -> Corpus:
    """The spans that more than half of the members found. Of plain tags the most frequent, or the first member's."""
    return _joined(answers, _most_frequent if answers[0].kind == "plain" else _majority)


def averaged(answers: Sequence[Corpus]) -> Corpus:
    """The mean of the members' soft labels."""
    return _joined(answers, _mean)


def open_share(corpus: Corpus) -> float:
    """The share of words that may be anything, because the members disagree."""
    return corpus.open_words[ANY_LABEL] / max(1, corpus.word_count)


def _joined(answers: Sequence[Corpus], vote: Callable[[Sequence[Sentence]], Sentence]) -> Corpus:
    return replace(answers[0], sentences=tuple(vote(each) for each in zip(*answers, strict=True)))


def _agreed(answers: Sequence[Sentence]) -> Sentence:
    spans = [set(answer.spans) for answer in answers]
    certain = set.intersection(*spans)
    tags = ["O"] * len(answers[0])
    for span in set.union(*spans) - certain:  # it overlaps no certain one: a member found both
        tags[span.start : span.end] = [open_tag([ANY_LABEL])] * (span.end - span.start)
    return answers[0].with_tags(tags).with_spans(sorted(certain))


def _majority(answers: Sequence[Sentence]) -> Sentence:
    votes: Counter[Span] = Counter(span for answer in answers for span in answer.spans)
    most = sorted(span for span, number in votes.items() if 2 * number > len(answers))
    return answers[0].with_tags(["O"] * len(answers[0])).with_spans(most)


def _most_frequent(answers: Sequence[Sentence]) -> Sentence:
    rows = zip(*(answer.tags or () for answer in answers), strict=True)
    return answers[0].with_tags([Counter(row).most_common(1)[0][0] for row in rows])


def _mean(answers: Sequence[Sentence]) -> Sentence:
    guesses = [[dict(row) for row in answer.probabilities or ()] for answer in answers]
    return softened(answers[0], coherent(mixed(guesses, [1.0] * len(guesses))))


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
    """The probability that each annotator names the true tag, smoothed by one right and one wrong answer."""
    truth = answers.sum(1) / np.maximum(answers.sum((1, 2)), 1)[:, None]  # (word, tag)
    trust = trust_of(answers, truth)
    for _ in range(_TURNS):
        before, truth = trust, truth_of(answers, trust)
        trust = trust_of(answers, truth)
        if np.abs(trust - before).max(initial=0) < _CLOSE:
            break
    return trust


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
    """The logarithm of how much an annotator's answer raises the odds of a tag, at least a small weight."""
    return np.maximum(_log_odds(trust, tags), _LEAST)


def _log_odds(trust: NDArray[np.float64], tags: int) -> NDArray[np.float64]:
    return np.asarray(np.log(trust * (tags - 1) / (1 - trust)))
