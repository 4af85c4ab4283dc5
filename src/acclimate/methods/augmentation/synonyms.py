"""Synonyms from a table of one's own, or from neighbours of word vectors (which are less: `good` and `bad` are used
alike)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import normalize

from acclimate.data.problems import InputError
from acclimate.data.readers.source import Source
from acclimate.data.words import STOP_WORDS
from acclimate.model.encoders.vectors import read_vectors


class Synonyms(Protocol):
    """Anything that knows words which may stand in for others."""

    def of(self, word: str) -> Sequence[str]:
        """Single words for this one, with its capitals; never the word itself."""


class SynonymTable:
    """Synonyms from a table. A word is looked up as it is written, then in lower case."""

    def __init__(self, entries: Mapping[str, Sequence[str]]) -> None:
        self.entries = dict(entries)

    @classmethod
    def read(cls, path: str | Path) -> SynonymTable:
        """A file with lines `word<TAB>synonym,synonym`; plain, .gz or .xz."""
        source = Source(path)
        if source.faults:
            raise next(iter(source.faults.values()))
        entries: dict[str, list[str]] = {}
        lines: dict[str, int] = {}
        for number, line in enumerate(source.lines, start=1):
            if not line.strip():
                continue
            word, synonyms, problem = _parsed(line)
            if not problem and word in lines:
                problem = f"{word!r} was already given in line {lines[word]}; put all its synonyms there."
            if problem:
                raise InputError(problem, file=source.name, line=number, text=line)
            entries[word], lines[word] = synonyms, number
        if not entries:
            raise InputError("no synonyms in this file: expected lines `word<TAB>synonym,synonym`.", file=source.name)
        return cls(entries)

    def of(self, word: str) -> Sequence[str]:
        return in_any_case(word, lambda spelled: self.entries.get(spelled, ()))


class FirstKnown:
    """Several sources: the first that knows a word answers."""

    def __init__(self, sources: Iterable[Synonyms]) -> None:
        self.sources = tuple(sources)

    def of(self, word: str) -> Sequence[str]:
        return next((synonyms for source in self.sources if (synonyms := source.of(word))), ())


def open_synonyms(
    table: str | Path | None = None, vectors: str | Path | None = None, words: Collection[str] | None = None
) -> Synonyms:
    """Synonyms from a table first, then from word vectors, of which only those of `words` are read."""
    sources: list[Synonyms] = [] if table is None else [SynonymTable.read(table)]
    if vectors is not None:
        sources.append(NearestWords.read(vectors, words))
    if not sources:
        raise InputError("no source of synonyms: name a table or word vectors.")
    return sources[0] if len(sources) == 1 else FirstKnown(sources)


def in_any_case(word: str, known: Callable[[str], Iterable[str]]) -> list[str]:
    """What is known of a word as it is written, or else of its lower case, then with the capitals of the word."""
    synonyms = list(known(word))
    if not synonyms and word != word.lower():
        synonyms = [_with_capitals(word, synonym) for synonym in known(word.lower())]
    return [synonym for synonym in dict.fromkeys(synonyms) if synonym != word]


def _with_capitals(word: str, synonym: str) -> str:
    if word.isupper() and len(word) > 1:
        return synonym.upper()
    return synonym[:1].upper() + synonym[1:] if word[:1].isupper() else synonym


def _parsed(line: str) -> tuple[str, list[str], str]:
    """The word of a line, its synonyms, and what is wrong with them, if anything is."""
    word, *rest = (part.strip() for part in line.split("\t"))
    if len(rest) != 1 or not word or not rest[0]:
        return word, [], "expected a word, one tab, and its synonyms with commas between them."
    synonyms = [synonym.strip() for synonym in rest[0].split(",")]
    if "" in synonyms:
        return word, [], "there is nothing between two commas, or beside one."
    several = next((name for name in (word, *synonyms) if len(name.split()) > 1), None)
    if several is not None:
        return word, [], f"{several!r} is more than one word; one word can give way to one only."
    if word in synonyms:
        return word, [], f"{word!r} is its own synonym here."
    return word, synonyms, ""


_COSINES_AT_ONCE = 1 << 22


class NearestWords:
    """At most `most` words whose cosine with the word is `least` or above, the nearest first. Candidates are lower-case
    words of letters that are no stop words."""

    def __init__(self, vectors: Mapping[str, Tensor], most: int = 5, least: float = 0.6) -> None:
        self.most, self.least = most, least
        self.words = [word for word in vectors if word.isalpha() and word == word.lower() and word not in STOP_WORDS]
        self._numbers = {word: number for number, word in enumerate(self.words)}
        rows = [vectors[word].float() for word in self.words]
        self._directions = normalize(torch.stack(rows), dim=-1) if rows else torch.zeros(0, 1)  # (word, size)
        self._neighbours: dict[int, list[str]] = {}

    @classmethod
    def read(cls, path: str | Path, words: Collection[str] | None = None) -> NearestWords:
        """From a file of vectors, or `glove`; only `words`, those of the text, are kept if given."""
        vectors = read_vectors(path, None if words is None else {word.lower() for word in words})
        if not vectors:
            raise InputError("no word of the text has a vector. Are they for another language?", file=path)
        return cls(vectors)

    def of(self, word: str) -> Sequence[str]:
        return in_any_case(word, self._nearest)

    def _nearest(self, word: str) -> list[str]:
        number = self._numbers.get(word)
        if number is None:
            return []
        if number not in self._neighbours:
            self._find(number)
        return self._neighbours[number]

    def _find(self, number: int) -> None:
        """Find the neighbours of a word, and of those beside it in the list, in one product."""
        size = max(1, _COSINES_AT_ONCE // len(self.words))
        first = number // size * size
        cosines = self._directions[first : first + size] @ self._directions.T  # (word of these, word)
        cosines.diagonal(first).fill_(-torch.inf)  # the word itself
        lowest = cosines.topk(min(self.most, len(self.words))).values[:, -1:].clamp_min(self.least)
        places, others = (cosines >= lowest).nonzero(as_tuple=True)
        values = cosines[places, others]
        self._neighbours |= {first + place: [] for place in range(len(cosines))}
        # the nearest first, and of equally near ones the first in the list
        near = sorted(zip(places.tolist(), (-values).tolist(), others.tolist(), strict=True))
        for place, _, other in near:
            if len(self._neighbours[first + place]) < self.most:
                self._neighbours[first + place].append(self.words[other])
