"""Measures of two corpora without a model: surface features, shared words, and pieces per word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.analysis.text_comparison import DensityRatio, TypicalWord, count_words, frequent_words, jaccard_percent
from acclimate.data.corpus import Corpus
from acclimate.evaluation.counts import ratio


def within(corpus: Corpus, words: int) -> Corpus:
    """The first sentences that have so many words together at most, and at least one sentence."""
    total = 0
    for number, sentence in enumerate(corpus):
        total += len(sentence)
        if total > words and number:
            return corpus[:number]
    return corpus


Words = tuple[str, ...]
_LINK = re.compile(r"(https?://|www\.)\S", re.IGNORECASE)
_USER = re.compile(r"@\w")
_HASHTAG = re.compile(r"#\w")
_EMOJI = re.compile("[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf]")
_EMOTICON = re.compile(r"[:;=8]['-]?[()DPp/|3]+$|[()]['-]?[:;=]$|<3+$")
_CLOSING = "\"'”’»)]}`"
_ENDS = ".!?…。！？"


def _any(of_word: Callable[[str], Any]) -> Callable[[Words], bool]:
    return lambda words: any(map(of_word, words))


OF_SENTENCES: dict[str, Callable[[Words], bool]] = {
    "begin with a capital": lambda words: words[0][0].isupper(),
    "all in lower case": lambda words: "".join(words).islower(),
    "all in capitals": lambda words: "".join(words).isupper(),
    "end with . ! or ?": lambda words: "".join(words[-3:]).rstrip(_CLOSING).endswith(tuple(_ENDS)),
    "with a link": _any(_LINK.match),
    "with a user name": _any(_USER.match),
    "with a hashtag": _any(_HASHTAG.match),
    "with an emoji or emoticon": _any(lambda word: _EMOJI.search(word) or _EMOTICON.match(word)),
}
OF_WORDS: dict[str, Callable[[str], bool]] = {
    "with a capital letter first": lambda word: word[0].isupper(),
    "in capitals": lambda word: len(word) > 1 and word.isalpha() and word.isupper(),
    "with a digit": lambda word: any(letter.isdigit() for letter in word),
    "other letters than A to Z": lambda word: any(letter.isalpha() and not letter.isascii() for letter in word),
}


@dataclass(frozen=True, slots=True)
class Surface:
    """Sizes are of the whole corpus, all other figures of the sample. Shares lie between 0 and 1."""

    sentences: int
    words: int
    mean_length: float  # words per sentence
    long_length: int  # a tenth of the sentences have more words than that
    of_sentences: dict[str, float]
    of_words: dict[str, float]

    @classmethod
    def of(cls, corpus: Corpus, sample: Corpus | None = None) -> Surface:
        sample = corpus if sample is None else sample
        rows = [sentence.words for sentence in sample]
        lengths = sorted(map(len, rows))
        counts = sample.vocabulary
        return cls(
            sentences=len(corpus),
            words=corpus.word_count,
            mean_length=ratio(sum(lengths), len(lengths)),
            long_length=lengths[(9 * len(lengths) - 1) // 10] if lengths else 0,
            of_sentences={name: ratio(sum(map(test, rows)), len(rows)) for name, test in OF_SENTENCES.items()},
            of_words={
                name: ratio(sum(count for word, count in counts.items() if test(word)), counts.total())
                for name, test in OF_WORDS.items()
            },
        )


_TYPICAL = 8  # words that set the target apart
PiecesOf = Callable[[Sequence[str]], list[list[int]]]


@dataclass(frozen=True, slots=True)
class WordFigures:
    """Words are compared in lower case. Shares lie between 0 and 1."""

    overlap: float  # words of both in percent of all, as `compare-text` counts them
    unseen_words: float  # of the target's running words: not in the whole source
    unseen_types: float  # of its distinct words
    distance: float  # mean density ratio: 0 for the same mix of words, 1 for none shared
    typical: tuple[TypicalWord, ...]  # what sets the target apart


@dataclass(frozen=True, slots=True)
class PieceFigures:
    """Pieces per running word, and how many words the encoder does not know."""

    source: float
    target: float
    source_unknown: float  # share of running words with a piece that stands for anything unknown
    target_unknown: float


def compare_words(source: Corpus, samples: tuple[Corpus, Corpus], least_sentences: int = 3) -> WordFigures:
    """The samples of both, of like size; what is unseen is told by the whole source."""
    one, other = samples
    frequent = [frequent_words(sample, least_sentences=least_sentences) for sample in samples]
    ratios = DensityRatio.of(one, other)
    counts, unseen = count_words(other, lower_case=True), unseen_counts(source, other)
    return WordFigures(
        overlap=jaccard_percent(*frequent),
        unseen_words=ratio(unseen.total(), counts.total()),
        unseen_types=ratio(len(unseen), len(counts)),
        distance=ratios.distance,
        typical=tuple(ratios.top_words(_TYPICAL, frequent[1])),
    )


def compare_pieces(samples: tuple[Corpus, Corpus], pieces_of: PiecesOf, unknown: int | None) -> PieceFigures:
    one, other = (_counted(sample.vocabulary, pieces_of) for sample in samples)
    return PieceFigures(
        source=_mean(one),
        target=_mean(other),
        source_unknown=_unknown(one, unknown),
        target_unknown=_unknown(other, unknown),
    )


def unseen_counts(source: Corpus, target: Corpus) -> Counter[str]:
    """How often each word of the target occurs that the source has in no spelling, in lower case."""
    known = count_words(source, lower_case=True)
    return Counter({word: count for word, count in count_words(target, True).items() if word not in known})


_Counted = list[tuple[list[int], int]]  # the pieces of a word, and how often it occurs


def _counted(counts: Mapping[str, int], pieces_of: PiecesOf) -> _Counted:
    return list(zip(pieces_of(list(counts)), counts.values(), strict=True))


def _mean(words: _Counted) -> float:
    return ratio(sum(len(pieces) * count for pieces, count in words), sum(count for _, count in words))


def _unknown(words: _Counted, unknown: int | None) -> float:
    return ratio(sum(count for pieces, count in words if unknown in pieces), sum(count for _, count in words))
