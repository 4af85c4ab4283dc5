"""Where synonyms come from, without a network: a table of one's own, WordNet's files, or neighbours of word vectors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from acclimate.data.problems import InputError
from acclimate.data.readers.opening import Source


class Synonyms(Protocol):
    """Anything that knows words which may stand in for others."""

    def of(self, word: str) -> Sequence[str]:
        """Single words for this one, with its capitals; none when none are known, and never the word itself."""


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
        return next((found for source in self.sources if (found := source.of(word))), ())


def open_synonyms(
    table: str | Path | None = None,
    wordnet: str | Path | None = None,
    vectors: str | Path | None = None,
    words: Collection[str] | None = None,
) -> Synonyms:
    """Synonyms from what there is: a table first, then the files of WordNet, then neighbours of word vectors.

    words: those of the text; of the vectors only theirs are read, which saves memory and time.
    """
    sources: list[Synonyms] = [] if table is None else [SynonymTable.read(table)]
    if wordnet is not None:
        from acclimate.methods.augmentation.wordnet import WordNet

        sources.append(WordNet(wordnet))
    if vectors is not None:
        from acclimate.methods.augmentation.nearest_words import NearestWords

        sources.append(NearestWords.read(vectors, words))
    if not sources:
        raise InputError("no source of synonyms: name a table, a folder with WordNet's files, or word vectors.")
    return sources[0] if len(sources) == 1 else FirstKnown(sources)


def in_any_case(word: str, known: Callable[[str], Iterable[str]]) -> list[str]:
    """What is known of a word as it is written, or else of its lower case, then with the capitals of the word."""
    found = list(known(word))
    if not found and word != word.lower():
        found = [_with_capitals(word, synonym) for synonym in known(word.lower())]
    return [synonym for synonym in dict.fromkeys(found) if synonym != word]


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
