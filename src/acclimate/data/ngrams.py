"""Counting n-grams (runs of words) within sentences, and how strongly the words of one hold together.

Nothing but numbers is held: five bytes for a word of the text and four more for each length that is counted, 21 bytes
for runs of up to four words. Each length is counted in several passes over these, each taking its own share of the
n-grams, so that the sorting never needs more room than one share does.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Sentence

RelativeTo = Literal["length", "words"]
Measure = Literal["levine", "squared", "unigrams"]

_RARE = -1
_STEP = 1 << 20  # places looked at together
_SHARE = 1 << 22  # places sorted together, about
_FAR = 255  # words to the end of a sentence: more are not told apart, and no n-gram is so long
_COUNTDOWN = bytes(range(_FAR, 0, -1))


@dataclass(frozen=True)
class NumberedText:
    """All sentences laid end to end, with a number for each different word."""

    spellings: tuple[str, ...]
    numbers: NDArray[np.int32]  # (place)
    left: NDArray[np.uint8]  # (place) words from here to the end of the sentence, this one included, or 255
    sentences: int


@dataclass(frozen=True)
class Ngrams:
    """The n-grams of one length that were seen often enough."""

    numbers: NDArray[np.int32]  # (place) the n-gram that begins here, or _RARE
    counts: NDArray[np.int64]  # (n-gram)
    first: NDArray[np.int64]  # (n-gram) the place where it stands first
    total: int  # how many stand in the text, the rare ones too


def words_of(sentence: Sentence | Sequence[str]) -> Sequence[str]:
    """The words of a sentence. A bare string is refused: Python would take its letters for words."""
    if isinstance(sentence, Sentence):
        return sentence.words
    if isinstance(sentence, str):
        raise TypeError(f"Words must come one by one, such as ('new', 'york'), not as one string: {sentence!r}.")
    return sentence


def number_words(sentences: Iterable[Sentence | Sequence[str]], lower_case: bool = False) -> NumberedText:
    """A text as numbers: five bytes a word, whatever its spelling. The sentences may come one by one."""
    known: defaultdict[str, int] = defaultdict(lambda: len(known))
    numbers, left, count = array("i"), bytearray(), 0
    for sentence in sentences:
        count += 1
        words = words_of(sentence)
        numbers.extend([known[word.lower() if lower_case else word] for word in words])
        left += _COUNTDOWN[:1] * (len(words) - _FAR) + _COUNTDOWN[max(0, _FAR - len(words)) :]
    return NumberedText(tuple(known), np.frombuffer(numbers, np.int32), np.frombuffer(left, np.uint8), count)


def count_ngrams(text: NumberedText, longest: int, at_least: int = 1) -> dict[int, Ngrams]:
    """The n-grams of one to `longest` words that stand `at_least` so often in the text. None crosses a sentence's end.

    An n-gram is never more frequent than the two of one word less inside it. So only places where both are frequent
    need be looked at, and nothing is lost by it.
    """
    if longest >= _FAR:
        raise ValueError(f"N-grams of {longest} words are not counted, only shorter ones than {_FAR}.")
    by_length = {1: _counted(lambda start, end: text.numbers[start:end].astype(np.int64), text, 1, at_least)}
    for length in range(2, longest + 1):
        by_length[length] = _counted(_pairs(by_length[length - 1], text.left, length), text, length, at_least)
    return by_length


Keys = Callable[[int, int], NDArray[np.int64]]  # what begins at each place from … to …: equal keys are equal n-grams


def _pairs(shorter: Ngrams, left: NDArray[np.uint8], length: int) -> Keys:
    """An n-gram is known by the two shorter ones inside it; _RARE where one of them is rare or the sentence ends."""

    def keys(start: int, end: int) -> NDArray[np.int64]:
        first, second = shorter.numbers[start:end], shorter.numbers[start + 1 : end + 1]
        if len(second) < len(first):  # at the end of the text
            second = np.append(second, np.int32(_RARE))
        pairs = first.astype(np.int64) * len(shorter.counts) + second
        return np.where((left[start:end] >= length) & (first != _RARE) & (second != _RARE), pairs, _RARE)

    return keys


def _counted(keys: Keys, text: NumberedText, length: int, at_least: int) -> Ngrams:
    """Number and count the n-grams of a length."""
    size = len(text.numbers)
    shares = -(-size // _SHARE)
    numbers = np.full(size, _RARE, dtype=np.int32)
    counts, first = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    known = 0
    for share in range(shares):
        places, share_keys = _of_share(keys, size, share, shares)
        _, begin, inverse, times = np.unique(share_keys, return_index=True, return_inverse=True, return_counts=True)
        frequent = times >= at_least
        numbers[places] = np.where(frequent, known + frequent.cumsum() - 1, _RARE)[inverse]
        counts.append(times[frequent])
        first.append(places[begin[frequent]])
        known += len(counts[-1])
    return Ngrams(numbers, np.concatenate(counts), np.concatenate(first), int((text.left >= length).sum()))


def _of_share(keys: Keys, size: int, share: int, shares: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places where n-grams of one share begin, and their keys."""
    places, share_keys = [], []
    for start in range(0, size, _STEP):
        here = keys(start, min(start + _STEP, size))
        mine = np.flatnonzero((here != _RARE) & (here % shares == share))
        places.append(mine + start)
        share_keys.append(here[mine])
    return np.concatenate(places), np.concatenate(share_keys)


def mutual_information(
    by_length: Mapping[int, Ngrams], length: int, relative_to: RelativeTo = "length", measure: Measure = "levine"
) -> NDArray[np.float64]:
    """How strongly each n-gram of a length holds together, in nats (Levine et al. 2021, equation 3).

    The smallest log p(n-gram) / ∏ p(part) over all ways to cut the n-gram into parts, uncut left out: it holds no
    better than at its weakest seam. Cut into single words alone, "the New York" would pass for a strong one on account
    of "New York"; the cut "the | New York" shows that it is not.

    `relative_to` says what a p is a share of: all n-grams of its length, or all words of the text (the authors' notes
    leave it open). `measure="squared"` has p(n-gram)² above the line, as in the lists that the authors published: it
    favours what is frequent. `measure="unigrams"` is the plain measure that only cuts into single words, never smaller
    than the authors' and the same for two words.
    """
    totals = {size: by_length[size if relative_to == "length" else 1].total for size in by_length}
    logs = {size: np.log(ngrams.counts) - math.log(max(1, totals[size])) for size, ngrams in by_length.items()}
    first = by_length[length].first

    def log_share(start: int, end: int) -> NDArray[np.float64]:
        size = end - start
        shares: NDArray[np.float64] = logs[size][by_length[size].numbers[first + start]]
        return shares

    together = log_share(0, length)
    if measure == "unigrams":
        return together - sum(log_share(place, place + 1) for place in range(length))
    likeliest = [np.zeros(len(first))]  # (cut before this word) of the ways to cut what stands before it
    for end in range(1, length + 1):
        starts = range(1 if end == length else 0, end)
        likeliest.append(np.maximum.reduce([likeliest[start] + log_share(start, end) for start in starts]))
    return (2 * together if measure == "squared" else together) - likeliest[length]
