"""How similar lines are to a target text, by n-grams (n = 1 to 4) or by two language models.

"overlap" is the share of a line's n-grams that the target has, averaged over n. "jaccard", the rule of the adversarial
masking paper, divides by the n-grams of line or target, and so prefers long lines. "contrast" is the cross-entropy
difference (Moore and Lewis 2010): how much likelier a line is, word by word, to a bigram model of the target than to
one of a sample of the pool.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Literal, get_args

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.readers.detection import detect_format
from acclimate.data.readers.source import Source, Tokenize
from acclimate.data.reading import read_corpus
from acclimate.data.selection.text_files import Piece, RawText, read_beginning, read_blocks
from acclimate.data.words import split_words

NgramMeasure = Literal["jaccard", "overlap"]
Measure = Literal[NgramMeasure, "contrast"]
MEASURES: tuple[Measure, ...] = (*get_args(NgramMeasure), "contrast")
LONGEST = 4  # words of an n-gram

Line = Sequence[str]
Text = str | Path | Corpus


@dataclass(frozen=True)
class Target:
    """A text to be like, and how words are told apart."""

    lines: tuple[Line, ...]
    lower_case: bool = True
    tokenize: Tokenize = "words"
    pool: tuple[Line, ...] = ()  # what the target is contrasted with; see `with_sample`

    @property
    def words_per_line(self) -> float:
        return sum(map(len, self.lines)) / len(self.lines)

    def words_of(self, text: str) -> list[str]:
        """The words of a line, as the target's are spelled."""
        words = split_words(text, self.tokenize == "blanks")
        return [word.lower() for word in words] if self.lower_case else words


def read_target(
    like: Text | Sequence[Text], format: str | None = None, *, lower_case: bool = True, tokenize: Tokenize = "words"
) -> Target:
    """The words of all texts: raw text (plain, .gz or .xz), or whatever else `read_corpus` takes.

    format: found out for each text when it is not given; standard input (`-`) is then raw text.
    """
    lines = []
    for text in [like] if isinstance(like, Text) else like:
        for words in _lines_of(text, format, tokenize):
            lines.append(tuple(sys.intern(word.lower() if lower_case else word) for word in words))
    if not lines:
        raise InputError("the target text has no words. Is it the right file?")
    return Target(tuple(lines), lower_case, tokenize)


def _lines_of(text: Text, format: str | None, tokenize: Tokenize) -> Iterable[Line]:
    if not isinstance(text, Corpus):
        format = format or ("text" if str(text) == "-" else detected_format(text))
        if format == "text" and Path(text).is_file():
            return RawText(text, tokenize).words()
        text = read_corpus(text, format, tokenize=tokenize)
    return (sentence.words for sentence in text)


def detected_format(file: str | Path) -> str:
    """The format of a file by its name and its first megabyte."""
    source = Source(file)
    if source.path.is_file():
        source.data = read_beginning(file)
    return detect_format(source)


class NgramLikeness:
    """The mean share of shared n-grams, for n = 1 to 4."""

    def __init__(self, target: Target, measure: NgramMeasure) -> None:
        self.measure = measure
        self._known = [set(chain.from_iterable(ngrams(line, n) for line in target.lines)) for n in _LENGTHS]

    def score(self, words: Line) -> float:
        total = 0.0
        for n, known in zip(_LENGTHS, self._known, strict=True):
            own = set(ngrams(words, n))
            shared = len(own & known)
            if not shared:  # nor is any longer one
                break
            total += shared / (len(own) + len(known) - shared if self.measure == "jaccard" else len(own))
        return total / LONGEST


_LENGTHS = range(1, LONGEST + 1)


def ngrams(words: Line, n: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(n)), strict=False)


_SHARE = 0.5  # of the bigrams in a probability; the rest is the single words'
_SAMPLED_PIECES = 64
_FEWEST_SAMPLED = 100_000  # words of the pool, however small the target is
_REMEMBERED = 1 << 20  # pairs of words
_UNKNOWN, _BEGINNING = "", "\n"  # no words are so spelled


def with_sample(target: Target, pool: Sequence[Piece]) -> Target:
    """The target, and beside it lines from all over the pool: about as many words as the target has."""
    chosen = pool[:: -(-len(pool) // _SAMPLED_PIECES)]
    target_words = sum(map(len, target.lines))
    wanted = max(target_words, _FEWEST_SAMPLED) // len(chosen) + 1  # words of each piece
    sampled: list[Line] = []
    for piece in chosen:
        block = next(read_blocks(piece)).text.decode("utf-8")
        lines = list(map(target.words_of, block.split("\n")))
        sampled += lines[:: max(1, sum(map(len, lines)) // wanted)]
    return replace(target, pool=tuple(sampled))


class ContrastLikeness:
    """Scores between 0 and 1. 0.5: either model would have written the line as readily."""

    def __init__(self, target: Target) -> None:
        counts = Counter(chain.from_iterable(target.lines))
        # what the target has once says little of it: it is as unknown as what the target lacks
        self._known = {word for word, times in counts.items() if times > 1}
        own, other = (_Bigrams(map(self._spelled, lines), len(counts) + 1) for lines in (target.lines, target.pool))
        self._gain = lru_cache(_REMEMBERED)(lambda *pair: math.log(own.probability(*pair) / other.probability(*pair)))

    def score(self, words: Line) -> float:
        gain = sum(self._gain(*pair) for pair in pairwise(self._spelled(words)))
        return 1 / (1 + math.exp(-gain / max(1, len(words))))

    def _spelled(self, words: Line) -> list[str]:
        return [_BEGINNING, *(word if word in self._known else _UNKNOWN for word in words)]


class _Bigrams:
    """The probability of a word after another, half of it by the two, half by the word alone."""

    def __init__(self, lines: Iterable[Line], vocabulary: int) -> None:
        self._pairs = Counter(chain.from_iterable(map(pairwise, lines)))
        self._before: Counter[str] = Counter()
        self._words: Counter[str] = Counter()
        for (before, word), times in self._pairs.items():
            self._before[before] += times
            self._words[word] += times
        self._total = self._pairs.total() + vocabulary

    def probability(self, before: str, word: str) -> float:
        alone = (self._words[word] + 1) / self._total
        if not self._before[before]:
            return alone
        return _SHARE * self._pairs[before, word] / self._before[before] + (1 - _SHARE) * alone


Likeness = NgramLikeness | ContrastLikeness


def likeness_to(target: Target, measure: Measure) -> Likeness:
    return ContrastLikeness(target) if measure == "contrast" else NgramLikeness(target, measure)
