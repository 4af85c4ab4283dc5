"""Collocations: word sequences that occur together more often than chance predicts, ranked, and their file format."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

from acclimate.data.corpus import Sentence
from acclimate.data.ngrams import (
    Measure,
    Ngrams,
    NumberedText,
    RelativeTo,
    count_ngrams,
    mutual_information,
    number_words,
    words_of,
)
from acclimate.data.problems import InputError
from acclimate.data.readers.records import Fields, Record, expect_strings, json_records, require
from acclimate.data.readers.source import ReadingLog, ReadingOptions, Source
from acclimate.data.writers import saving

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


def write_collocations(entries: Sequence[Collocation], lower_case: bool, path: str | Path) -> None:
    head = {"format": _FORMAT, "version": _VERSION, "lower_case": lower_case, "collocations": len(entries)}
    rows = ({"words": entry.words, "count": entry.count, "score": entry.score} for entry in entries)
    lines = (json.dumps(row, ensure_ascii=False) for row in (head, *rows))
    saving.save(saving.encoded("".join(f"{line}\n" for line in lines)), path)


def read_collocations(path: str | Path) -> tuple[tuple[Collocation, ...], bool]:
    """The collocations of a file, the best first, and whether their words are in lower case."""
    source = Source(path)
    records = json_records(source, ReadingLog(ReadingOptions()))
    lower_case, promised = _read_head(source, next(records, None))
    lines: dict[tuple[str, ...], int] = {}
    entries = []
    for record in records:
        with _pointing_at(source, record):
            entry = _read_entry(record.fields, lower_case)
            if entry.words in lines:
                raise ValueError(f"these words stand on line {lines[entry.words]} already.")
        lines[entry.words] = record.line
        entries.append(entry)
    if len(entries) != promised:
        problem = (
            f"line 1 promises {promised:,} collocations, and there are {len(entries):,}: the file is not whole. "
            "Copy it again, or, if you changed it yourself, write their number there."
        )
        raise InputError(problem, file=source.name, line=1)
    return tuple(entries), lower_case


def _read_head(source: Source, head: Record | None) -> tuple[bool, int]:
    """Whether the words are in lower case, and how many collocations follow."""
    if head is None or head.fields.get("format") != _FORMAT or head.fields.get("version") != _VERSION:
        problem = (
            f'a file of collocations begins with {{"format": "{_FORMAT}", "version": {_VERSION}, …}}; this does not. '
            "Write one with `acclimate data collocations`, or build_collocations(…).save(path)."
        )
        raise InputError(problem, file=source.name, line=1, text=None if head is None else head.spelled)
    with _pointing_at(source, head):
        return require(head.fields, "lower_case", bool), require(head.fields, "collocations", int)


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
    """What is wrong with a line is told together with its place."""
    try:
        yield
    except ValueError as error:
        problem = f"{error} Correct the line, or build the collocations again."
        raise InputError(problem, file=source.name, line=record.line, text=record.spelled) from error


__all__ = ["SHARES", "Collocation", "Collocations", "Occurrence", "build_collocations", "usual_shares"]

SHARES = {2: 0.5, 3: 0.25, 4: 0.25}  # of the vocabulary, by length; Levine's, with 4 standing for 4 and 5

_DIGITS = 9  # of a score: beyond them lies rounding, which differs between machines and must not decide a rank


class Occurrence(NamedTuple):
    """A collocation that stands in a sentence, from word `start` up to but not including word `end`."""

    start: int
    end: int
    rank: int


@dataclass(frozen=True)
class Collocations:
    """A vocabulary of collocations, the best one first: ranks count from 0.

    With `lower_case` all its words are in lower case, and words are compared so.
    """

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
        return self.rank(words) is not None

    def rank(self, words: Sequence[str]) -> int | None:
        """The place of these words in the vocabulary, or None if they are no collocation."""
        return self._ranks.get(self._spelled(words))

    def find(self, words: Sequence[str]) -> list[Occurrence]:
        """All collocations that stand in a sentence, also those that overlap; neighbouring words only.

        The longest come first, then the best ranked, then the leftmost: where one lies inside another, the larger is
        meant, as Levine et al. (2021) have it.
        """
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
        """Write a text file: a line that says what it is, then one JSON object for each collocation, the best first."""
        write_collocations(self.entries, self.lower_case, path)

    @classmethod
    def load(cls, path: str | Path) -> Collocations:
        """Read what `save` wrote."""
        return cls(*read_collocations(path))

    def _spelled(self, words: Sequence[str]) -> tuple[str, ...]:
        words = words_of(words)
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
    sentences: Iterable[Sentence | Sequence[str]],
    at_least: int = 5,
    size: int | None = None,
    shares: Mapping[int, float] = SHARES,
    relative_to: RelativeTo = "length",
    measure: Measure = "levine",
    lower_case: bool = False,
) -> Collocations:
    """The collocations of a text that were seen `at_least` so often, ranked (Levine et al. 2021).

    Scores of unlike lengths do not compare. So each length has a ranking of its own, and the rankings are merged in
    such a way that the vocabulary's first entries, however many, have the lengths in these `shares`. `size` cuts it
    there: a smaller vocabulary is the beginning of a larger one. Where a length runs out, the others take its room.

    `relative_to` and `measure` are explained with `mutual_information`. No collocation crosses a sentence's end.
    """
    require_sensible(at_least, size, shares)
    entries = rank_collocations(number_words(sentences, lower_case), at_least, size, shares, relative_to, measure)
    return Collocations(entries, lower_case)


def rank_collocations(
    text: NumberedText,
    at_least: int = 5,
    size: int | None = None,
    shares: Mapping[int, float] = SHARES,
    relative_to: RelativeTo = "length",
    measure: Measure = "levine",
) -> tuple[Collocation, ...]:
    """The same for a text that is numbered already."""
    require_sensible(at_least, size, shares)
    _require_known(relative_to, get_args(RelativeTo))
    _require_known(measure, get_args(Measure))
    by_length = count_ngrams(text, max(shares), at_least)
    placed = [
        (place / share, -length, entry)
        for length, share in shares.items()
        for place, entry in enumerate(_ranking(text, by_length, length, relative_to, measure, size), start=1)
    ]
    placed.sort(key=lambda item: (round(item[0], _DIGITS), item[1]))
    return tuple(entry for _, _, entry in placed[:size])


def usual_shares(lengths: Iterable[int]) -> dict[int, float]:
    """Levine's shares for other lengths: each has half of what is left, and the last two have the same."""
    ordered = sorted(set(lengths))
    shares = {length: 0.5**place for place, length in enumerate(ordered, start=1)}
    return {**shares, ordered[-1]: 0.5 ** (len(ordered) - 1)} if ordered else {}


def require_sensible(at_least: int, size: int | None, shares: Mapping[int, float]) -> None:
    """Refuse what no vocabulary can be built by."""
    if at_least < 1 or (size is not None and size < 1):
        raise InputError(f"at_least and size must be 1 or more, not {at_least} and {size}.")
    if not shares or min(shares) < 2 or min(shares.values()) <= 0 or not math.isclose(sum(shares.values()), 1):
        raise InputError(
            "the shares need lengths of two words or more, and positive numbers that add up to 1, such as "
            f"{SHARES}; got {dict(shares)}."
        )


def _require_known(name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise InputError(f"{name!r} is none of {', '.join(map(repr, known))}.")


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
    kept = np.arange(len(scores))
    if size is not None and size < len(scores):  # weaker ones are not even spelled out
        kept = np.flatnonzero(scores >= np.partition(scores, -size)[-size])
    words = zip(*(text.numbers[ngrams.first[kept] + place].tolist() for place in range(length)), strict=True)
    entries = [
        Collocation(tuple(text.spellings[word] for word in numbers), count, score)
        for numbers, count, score in zip(words, ngrams.counts[kept].tolist(), scores[kept].tolist(), strict=True)
    ]
    return sorted(entries, key=lambda entry: (-entry.score, -entry.count, entry.words))[:size]
