"""Counting n-grams (runs of words) within sentences, and how strongly the words of one hold together."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Sentence

RelativeTo = Literal["length", "words"]
Measure = Literal["levine", "squared"]

_RARE = -1


@dataclass(frozen=True)
class NumberedText:
    """All sentences laid end to end, with a number for each different word."""

    spellings: tuple[str, ...]
    numbers: NDArray[np.int32]  # (place)
    left: NDArray[np.int32]  # (place) words from here to the end of the sentence, this one included


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
    """A text as numbers: four bytes a word, whatever its spelling."""
    known: defaultdict[str, int] = defaultdict(lambda: len(known))
    numbers, lengths = array("i"), array("i")
    for sentence in sentences:
        words = words_of(sentence)
        numbers.extend(known[word.lower() if lower_case else word] for word in words)
        lengths.append(len(words))
    sizes = np.array(lengths, dtype=np.int32)
    left = np.repeat(sizes.cumsum(), sizes) - np.arange(len(numbers))
    return NumberedText(tuple(known), np.array(numbers, dtype=np.int32), left.astype(np.int32))


def count_ngrams(text: NumberedText, longest: int, at_least: int = 1) -> dict[int, Ngrams]:
    """The n-grams of one to `longest` words that stand `at_least` so often in the text. None crosses a sentence's end.

    An n-gram is never more frequent than the two of one word less inside it. So only places where both are frequent
    need be looked at, and nothing is lost by it.
    """
    found = {1: _counted(text.numbers, np.arange(len(text.numbers)), text, 1, at_least)}
    for length in range(2, longest + 1):
        shorter = found[length - 1]
        starts, ends = shorter.numbers[:-1], shorter.numbers[1:]
        places = np.flatnonzero((text.left[:-1] >= length) & (starts != _RARE) & (ends != _RARE))
        pairs = starts[places].astype(np.int64) * len(shorter.counts) + ends[places]
        found[length] = _counted(pairs, places, text, length, at_least)
    return found


def _counted(
    keys: NDArray[np.integer], places: NDArray[np.intp], text: NumberedText, length: int, at_least: int
) -> Ngrams:
    """Number and count the n-grams that begin at `places`; equal keys are equal n-grams."""
    _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    frequent = counts >= at_least
    renumbered = np.where(frequent, frequent.cumsum() - 1, _RARE)
    numbers = np.full(len(text.numbers), _RARE, dtype=np.int32)
    numbers[places] = renumbered[inverse]
    return Ngrams(numbers, counts[frequent], places[first[frequent]], int((text.left >= length).sum()))


def mutual_information(
    found: Mapping[int, Ngrams], length: int, relative_to: RelativeTo = "length", measure: Measure = "levine"
) -> NDArray[np.float64]:
    """How strongly each n-gram of a length holds together, in nats (Levine et al. 2021, equation 3).

    The smallest log p(n-gram) / ∏ p(part) over all ways to cut the n-gram into parts, uncut left out: it holds no
    better than at its weakest seam. Cut into single words alone, "the New York" would pass for a strong one on account
    of "New York"; the cut "the | New York" shows that it is not.

    `relative_to` says what a p is a share of: all n-grams of its length, or all words of the text (the authors' notes
    leave it open). `measure="squared"` has p(n-gram)² above the line, as in the lists that the authors published: it
    favours what is frequent.
    """
    totals = {size: found[size if relative_to == "length" else 1].total for size in found}
    logs = {size: np.log(ngrams.counts) - math.log(max(1, totals[size])) for size, ngrams in found.items()}
    first = found[length].first

    def log_share(start: int, end: int) -> NDArray[np.float64]:
        size = end - start
        shares: NDArray[np.float64] = logs[size][found[size].numbers[first + start]]
        return shares

    likeliest = [np.zeros(len(first))]  # (cut before this word) of the ways to cut what stands before it
    for end in range(1, length + 1):
        starts = range(1 if end == length else 0, end)
        likeliest.append(np.maximum.reduce([likeliest[start] + log_share(start, end) for start in starts]))
    together = log_share(0, length)
    return (2 * together if measure == "squared" else together) - likeliest[length]
