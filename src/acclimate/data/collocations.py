"""Collocations: word sequences that occur together more often than chance predicts, ranked by mutual information.

Counting needs about 40 bytes per word of the text for up to four words. Each length is counted in several passes, each
for its own share of the n-grams, so that sorting needs no more memory than one share.
"""

from __future__ import annotations

import json
import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Sentence
from acclimate.data.problems import InputError
from acclimate.data.readers.records import Fields, Record, expect_strings, json_records, require
from acclimate.data.readers.source import ReadingLog, ReadingOptions, Source
from acclimate.data.writers.shared import encoded, save

RelativeTo = Literal["length", "words"]
Measure = Literal["levine", "squared", "unigrams"]

_RARE = -1
_SHARE = 1 << 22  # places sorted together, about
_FAR = 255  # words to the end of a sentence, or more; no n-gram is so long
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


def number_words(sentences: Iterable[Sentence | Sequence[str]], lower_case: bool = False) -> NumberedText:
    """A text as numbers: five bytes a word, whatever its spelling. The sentences may come one by one."""
    known: defaultdict[str, int] = defaultdict(lambda: len(known))
    numbers, left, count = array("i"), bytearray(), 0
    for sentence in sentences:
        count += 1
        words = sentence.words if isinstance(sentence, Sentence) else sentence
        numbers.extend([known[word.lower() if lower_case else word] for word in words])
        left += _COUNTDOWN[:1] * (len(words) - _FAR) + _COUNTDOWN[max(0, _FAR - len(words)) :]
    return NumberedText(tuple(known), np.frombuffer(numbers, np.int32), np.frombuffer(left, np.uint8), count)


def count_ngrams(text: NumberedText, longest: int, at_least: int = 1) -> dict[int, Ngrams]:
    """The n-grams of one to `longest` words that occur at least `at_least` times. None crosses a sentence's end.

    An n-gram is never more frequent than the two of one word less inside it, so only places where both are frequent
    count.
    """
    if longest >= _FAR:
        raise ValueError(f"N-grams of {longest} words are not counted, only shorter ones than {_FAR}.")
    by_length = {1: _counted(text.numbers.astype(np.int64), text, 1, at_least)}
    for length in range(2, longest + 1):
        shorter = by_length[length - 1]
        first, second = shorter.numbers, np.append(shorter.numbers[1:], np.int32(_RARE))
        keys = first.astype(np.int64) * len(shorter.counts) + second
        keys[(text.left < length) | (first == _RARE) | (second == _RARE)] = _RARE
        by_length[length] = _counted(keys, text, length, at_least)
    return by_length


def _counted(keys: NDArray[np.int64], text: NumberedText, length: int, at_least: int) -> Ngrams:
    """Number and count the n-grams of a length. `keys` (place) are equal for equal n-grams, or _RARE."""
    shares = -(-len(keys) // _SHARE)
    numbers = np.full(len(keys), _RARE, dtype=np.int32)
    counts, first = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    known = 0
    for share in range(shares):
        places = np.flatnonzero((keys != _RARE) & (keys % shares == share))
        _, begin, inverse, times = np.unique(keys[places], return_index=True, return_inverse=True, return_counts=True)
        frequent = times >= at_least
        numbers[places] = np.where(frequent, known + frequent.cumsum() - 1, _RARE)[inverse]
        counts.append(times[frequent])
        first.append(places[begin[frequent]])
        known += len(counts[-1])
    return Ngrams(numbers, np.concatenate(counts), np.concatenate(first), int((text.left >= length).sum()))


def mutual_information(
    by_length: Mapping[int, Ngrams], length: int, relative_to: RelativeTo = "length", measure: Measure = "levine"
) -> NDArray[np.float64]:
    """How strongly each n-gram of a length holds together, in nats (Levine et al. 2021, equation 3).

    The smallest log p(n-gram) / ∏ p(part) over all ways to cut the n-gram into two parts or more: "the New York" is
    weak, for it can be cut into "the" and "New York". `relative_to`: whether a p is a share of all n-grams of its
    length, or of all words of the text (the paper leaves it open). `measure="squared"` has p(n-gram)² above the line,
    as in the lists that the authors published. `measure="unigrams"` only cuts into single words.
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


_FORMAT, _VERSION = "acclimate collocations", 1


@dataclass(frozen=True, slots=True)
class Collocation:
    """Two or more words, how often they were seen together, and how strongly they hold together (in nats)."""

    words: tuple[str, ...]
    count: int
    score: float

    def __post_init__(self) -> None:
        if len(self.words) < 2 or not all(self.words):
            raise ValueError(f"a collocation is two or more words, none of them empty, not {list(self.words)}.")
        if self.count < 1 or not math.isfinite(self.score):
            raise ValueError(f"the count must be 1 at least and the score finite, not {self.count} and {self.score}.")


def _read_collocations(path: str | Path) -> tuple[tuple[Collocation, ...], bool]:
    """The collocations of a file, the best first, and whether their words are in lower case."""
    source = Source(path)
    records = json_records(source, ReadingLog(ReadingOptions()))
    head = next(records, None)
    if head is None or head.fields.get("format") != _FORMAT or head.fields.get("version") != _VERSION:
        problem = (
            f'a file of collocations begins with {{"format": "{_FORMAT}", "version": {_VERSION}, …}}; this does not. '
            "Write one with `acclimate data collocations`, or build_collocations(…).save(path)."
        )
        raise InputError(problem, file=source.name, line=1, text=None if head is None else head.spelled)
    with _pointing_at(source, head):
        lower_case, promised = require(head.fields, "lower_case", bool), require(head.fields, "collocations", int)
    entries: dict[tuple[str, ...], Collocation] = {}
    for record in records:
        with _pointing_at(source, record):
            entry = _read_entry(record.fields, lower_case)
            if entry.words in entries:
                raise ValueError("these words stand on an earlier line already.")
        entries[entry.words] = entry
    if len(entries) != promised:
        problem = f"line 1 promises {promised:,} collocations, and there are {len(entries):,}: the file is not whole."
        advice = "Copy it again, or, if you changed it yourself, write their number there."
        raise InputError(f"{problem} {advice}", file=source.name, line=1)
    return tuple(entries.values()), lower_case


def _read_entry(fields: Fields, lower_case: bool) -> Collocation:
    words = tuple(expect_strings(require(fields, "words", list), "'words'"))
    if lower_case and any(word != word.lower() for word in words):
        raise ValueError(f"line 1 says that all words are in lower case, but these are not: {list(words)}.")
    score = fields.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise ValueError(f"'score' should be a number, but is {score!r}.")
    return Collocation(words, require(fields, "count", int), float(score))


@contextmanager
def _pointing_at(source: Source, record: Record) -> Iterator[None]:
    """Give errors the place of the record."""
    try:
        yield
    except ValueError as error:
        problem = f"{error} Correct the line, or build the collocations again."
        raise InputError(problem, file=source.name, line=record.line, text=record.spelled) from error


_DIGITS = 9  # of a score: beyond them lies rounding, which differs between machines and must not decide a rank


class Occurrence(NamedTuple):
    """A collocation in a sentence, from word `start` to word `end` (exclusive)."""

    start: int
    end: int
    rank: int


@dataclass(frozen=True)
class Collocations:
    """A vocabulary of collocations, the best one first: ranks count from 0."""

    entries: tuple[Collocation, ...]
    lower_case: bool = False

    def __post_init__(self) -> None:
        if len(self._ranks) < len(self.entries):
            raise ValueError("a collocation is listed twice.")

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """The words of each, in order of rank."""
        return (entry.words for entry in self.entries)

    def __contains__(self, words: Sequence[str]) -> bool:
        return self._spelled(words) in self._ranks

    def find(self, words: Sequence[str]) -> list[Occurrence]:
        """All collocations in a sentence, also those that overlap: the longest first, then the best ranked."""
        spelled = self._spelled(words)
        occurrences = []
        for start, opening in enumerate(pairwise(spelled)):
            for length in self._lengths.get(opening, ()):
                end = start + length
                rank = self._ranks.get(spelled[start:end])
                if rank is not None and end <= len(spelled):  # a slice beyond the end is a shorter run
                    occurrences.append(Occurrence(start, end, rank))
        return sorted(occurrences, key=lambda one: (one.start - one.end, one.rank, one.start))

    def save(self, path: str | Path) -> None:
        """Write a text file: a head line, then one JSON object for each collocation, the best first."""
        size = len(self.entries)
        head = {"format": _FORMAT, "version": _VERSION, "lower_case": self.lower_case, "collocations": size}
        rows = ({"words": entry.words, "count": entry.count, "score": entry.score} for entry in self.entries)
        save(encoded("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in (head, *rows))), path)

    @classmethod
    def load(cls, path: str | Path) -> Collocations:
        """Read what `save` wrote."""
        return cls(*_read_collocations(path))

    def _spelled(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(word.lower() for word in words) if self.lower_case else tuple(words)

    @cached_property
    def _ranks(self) -> dict[tuple[str, ...], int]:
        return {entry.words: rank for rank, entry in enumerate(self.entries)}

    @cached_property
    def _lengths(self) -> dict[tuple[str, str], set[int]]:
        """First two words → lengths of the collocations that begin so. Most pairs begin none and cost one look."""
        lengths: dict[tuple[str, str], set[int]] = {}
        for words in self:
            lengths.setdefault((words[0], words[1]), set()).add(len(words))
        return lengths


def build_collocations(
    sentences: NumberedText | Iterable[Sentence | Sequence[str]],
    at_least: int = 5,
    size: int | None = None,
    lengths: Iterable[int] = (2, 3, 4),
    relative_to: RelativeTo = "length",
    measure: Measure = "levine",
    lower_case: bool = False,
) -> Collocations:
    """The collocations of a text that occur at least `at_least` times, ranked (Levine et al. 2021).

    Each length has a ranking of its own, since scores of unlike lengths do not compare. The rankings are merged: of the
    first entries, however many, half have the shortest length, and each longer one half of what is left, but the last
    two the same. `size` limits the vocabulary. `relative_to` and `measure` are explained with `mutual_information`.
    `lower_case` must be that of a text which is numbered already.
    """
    ordered = sorted(set(lengths))
    if not ordered or ordered[0] < 2:
        raise InputError(f"collocations have lengths of two words or more, such as 2, 3, 4; not {ordered}.")
    if at_least < 1 or (size is not None and size < 1):
        raise InputError(f"at_least and size must be 1 or more, not {at_least} and {size}.")
    for name, known in ((relative_to, get_args(RelativeTo)), (measure, get_args(Measure))):
        if name not in known:
            raise InputError(f"{name!r} is none of {', '.join(map(repr, known))}.")
    text = sentences if isinstance(sentences, NumberedText) else number_words(sentences, lower_case)
    by_length = count_ngrams(text, ordered[-1], at_least)
    shares = {length: 0.5 ** min(place, len(ordered) - 1) for place, length in enumerate(ordered, start=1)}
    placed = [
        (place / share, -length, entry)
        for length, share in shares.items()
        for place, entry in enumerate(_ranking(text, by_length, length, relative_to, measure, size), start=1)
    ]
    placed.sort(key=lambda item: (round(item[0], _DIGITS), item[1]))
    return Collocations(tuple(entry for _, _, entry in placed[:size]), lower_case)


def _ranking(
    text: NumberedText,
    by_length: Mapping[int, Ngrams],
    length: int,
    relative_to: RelativeTo,
    measure: Measure,
    size: int | None,
) -> list[Collocation]:
    """The n-grams of one length, the strongest first; ties by count, then by spelling, so that no order wavers."""
    ngrams = by_length[length]
    scores = mutual_information(by_length, length, relative_to, measure).round(_DIGITS)
    chosen = np.arange(len(scores))
    if size is not None and size < len(scores):  # weaker ones are not even spelled out
        chosen = np.flatnonzero(scores >= np.partition(scores, -size)[-size])
    words = zip(*(text.numbers[ngrams.first[chosen] + place].tolist() for place in range(length)), strict=True)
    entries = [
        Collocation(tuple(text.spellings[word] for word in numbers), count, score)
        for numbers, count, score in zip(words, ngrams.counts[chosen].tolist(), scores[chosen].tolist(), strict=True)
    ]
    return sorted(entries, key=lambda entry: (-entry.score, -entry.count, entry.words))[:size]
