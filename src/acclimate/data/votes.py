"""What several taggers say of the same text, as one corpus: what all agree on, what most say, or the mean.

An answer is the text under the tags of one member of a committee. The answers of a committee have the same sentences,
in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import ANY_LABEL, Span, open_tag
from acclimate.data.soft_labels import coherent, mixed, softened

_Vote = Callable[[Sequence[Sentence]], Sentence]


def agreed(answers: Sequence[Corpus]) -> Corpus:
    """The spans that all members found. A word of a span that some found and others did not may be anything (`O|*`).
    Of plain tags, which cannot be open, the most frequent one is taken."""
    if answers[0].kind == "plain":
        return voted(answers)
    return _joined(answers, _agreed)


def voted(answers: Sequence[Corpus]) -> Corpus:
    """The spans that more than half of the members found; such spans never overlap. Of plain tags the most frequent one
    at each word, of equally frequent ones the first member's."""
    return _joined(answers, _most_frequent if answers[0].kind == "plain" else _majority)


def averaged(answers: Sequence[Corpus]) -> Corpus:
    """The mean of the members' soft labels."""
    return _joined(answers, _mean)


def open_share(corpus: Corpus) -> float:
    """The share of words that may be anything, because the members disagree."""
    return corpus.open_words[ANY_LABEL] / max(1, corpus.word_count)


def _joined(answers: Sequence[Corpus], vote: _Vote) -> Corpus:
    sentences = tuple(vote(each) for each in zip(*answers, strict=True))
    return replace(answers[0], sentences=sentences)


def _agreed(answers: Sequence[Sentence]) -> Sentence:
    found = [set(answer.spans) for answer in answers]
    certain = set.intersection(*found)
    tags = ["O"] * len(answers[0])
    for span in set.union(*found) - certain:  # it overlaps no certain one: somebody found both
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
