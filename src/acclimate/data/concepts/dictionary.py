"""A dictionary of concepts, which finds all its names in a sentence in one pass.

Names and text are compared as atoms: a run of letters and digits, or one other sign. So `Parkinson's` matches
`Parkinson 's`. A match begins and ends where words do. Case counts always (`exact`), never (`lower`), or for
abbreviations only (`smart`).
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from acclimate.data.concepts.files import Concept
from acclimate.data.concepts.labelling import NO_TYPE, Groups, Mention
from acclimate.data.corpus import Sentence
from acclimate.data.problems import InputError
from acclimate.spelling import argument

UNKNOWN = -1
_BITS = 32


class Trie:
    """Rows of words that share their beginnings. A row is known by the number of its last node."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self._next: dict[int, int] = {}  # node and word → node
        self._is_row = bytearray(1)

    def __len__(self) -> int:
        return len(self._is_row)

    def add(self, row: Sequence[str]) -> int:
        """The node of a row, which is made if it is new. An empty row has none."""
        if not row:
            raise ValueError("an empty row matches everywhere.")
        node = 0
        for text in row:
            word = self.words.setdefault(text, len(self.words))
            following = self._next.setdefault(node << _BITS | word, len(self._is_row))
            if following == len(self._is_row):
                self._is_row.append(0)
            node = following
        self._is_row[node] = 1
        return node

    def numbers(self, row: Sequence[str]) -> tuple[int, ...]:
        """Words as `matches` takes them; UNKNOWN for one that is in no row."""
        return tuple(self.words.get(word, UNKNOWN) for word in row)

    def matches(self, words: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Every row in the text: where it begins, where it ends (exclusive), and its node."""
        following, is_row, size = self._next.get, self._is_row, len(words)
        for start in range(size):
            node, end = 0, start
            # few rows begin with the words that stand here, and the walk along them soon ends
            while end < size and words[end] >= 0 and (node := following(node << _BITS | words[end], 0)):
                end += 1
                if is_row[node]:
                    yield start, end, node


CasePolicy = Literal["smart", "lower", "exact"]

LONGEST_ABBREVIATION = 6  # letters and digits; longer names in capitals are names that somebody wrote in capitals
_ATOM = re.compile(r"[^\W_]+|\S")
_SAME_SIGNS = str.maketrans({"’": "'", "‘": "'", "＇": "'", "‐": "-", "‑": "-", "–": "-", "−": "-"})


def atoms(text: str) -> list[str]:
    """`Parkinson’s disease` → `Parkinson`, `'`, `s`, `disease`."""
    return _ATOM.findall(text.translate(_SAME_SIGNS))


def size(name: str) -> int:
    """How many letters and digits a name has."""
    return sum(map(str.isalnum, name))


def in_capitals(name: str) -> bool:
    """Whether all letters are capitals, and there are two at least."""
    return name == name.upper() and sum(map(str.isalpha, name)) > 1 and name != name.lower()


def is_abbreviation(name: str) -> bool:
    """Short and in capitals: ALS, MS, T2DM, 5-FU."""
    return size(name) <= LONGEST_ABBREVIATION and in_capitals(name)


def says_nothing_by_capitals(names: Iterable[str]) -> bool:
    """Whether a list is written in capitals throughout, so that they tell no abbreviation. Long names decide."""
    long = [name for name in names if size(name) > LONGEST_ABBREVIATION]
    return 2 * sum(map(in_capitals, long)) > len(long)


def plural(name: str) -> str | None:
    """The name with an s, where its last letter takes one."""
    return f"{name}s" if name[-1:].isalpha() and name[-1] not in "sS" else None


class NameConflict(NamedTuple):
    """A name that two concepts have under different labels, of which it got one."""

    name: str
    kept: str
    lost: str


@dataclass
class DictionaryNotes:
    """What became of the names."""

    concepts: int = 0
    names: int = 0  # all that were given, synonyms too
    twice: int = 0  # the same name under the same label again
    too_short: int = 0
    without_letter: int = 0
    excluded: int = 0  # by the user's list
    other_types: Counter[str] = field(default_factory=Counter)  # names left out, by the type that has no label
    conflicts: list[NameConflict] = field(default_factory=list)
    in_capitals: list[str] = field(default_factory=list)  # sources whose capitals say nothing


_MOST_REMEMBERED = 1 << 20  # different words whose atoms are kept


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    type: str
    label: str
    rank: int  # 2: the name itself of its concept; 1: a synonym; 0: the plural of one of them
    written: tuple[str, ...] | None  # the atoms that must stand there as written


class ConceptDictionary:
    """Names of concepts, ready to be found; build it with `ConceptDictionary.of`. `notes` tell what became of the
    names.

    A name with two labels gets that of the concept whose main name it is, or else of the one that comes first.
    """

    def __init__(self, case: CasePolicy = "smart") -> None:
        self.case = case
        self.notes = DictionaryNotes()
        self._trie = Trie()
        self._names: list[_Name] = []
        self._name_at: array[int] = array("i")  # by node: the number of its name, or -1
        self._more: dict[int, list[int]] = {}  # by node: other names that differ in capitals
        self._atoms: dict[str, tuple[int, ...]] = {}

    @classmethod
    def of(
        cls,
        sources: Mapping[str, Iterable[Concept]],
        groups: Groups,
        *,
        case: CasePolicy = "smart",
        shortest: int = 2,
        plurals: bool = False,
        exclude: Iterable[str] = (),
    ) -> ConceptDictionary:
        """The names of all concepts whose type has a label.

        shortest: the fewest letters and digits of a name. plurals: a name may also take an s. exclude: names to leave
        out.
        """
        dictionary = cls(case)
        unwanted = {_folded(name) for name in exclude}
        for source, concepts in sources.items():
            dictionary._add_source(source, list(concepts), groups, shortest, plurals, unwanted)
        if not dictionary._names:
            raise _nothing_left(dictionary.notes, groups)
        return dictionary

    def __len__(self) -> int:
        """How many different names can be found, plurals not counted."""
        return len({name.text for name in self._names})

    def annotate(self, sentences: Sequence[Sentence]) -> Iterator[list[Mention]]:
        return (self.find(sentence.words) for sentence in sentences)

    def find(self, words: Sequence[str]) -> list[Mention]:
        """Every name in a sentence, overlapping ones too."""
        numbers: list[int] = []
        word_at: list[int] = []  # by atom: the number of the word that it begins, or -1
        for place, word in enumerate(words):
            known = self._atoms.get(word)
            if known is None:
                if len(self._atoms) >= _MOST_REMEMBERED:
                    self._atoms.clear()
                known = self._atoms[word] = self._trie.numbers([atom.lower() for atom in atoms(word)])
            numbers += known
            word_at += [place] if len(known) == 1 else [place, *[-1] * (len(known) - 1)][: len(known)]
        word_at.append(len(words))
        mentions: list[Mention] = []
        for first, last, node in self._trie.matches(numbers):
            start, end = word_at[first], word_at[last]
            if start >= 0 and end >= 0:
                name = self._name_here(node, words[start:end])
                if name is not None:
                    mentions.append(Mention(start, end, (name.type,) if name.type else (), name.text))
        return mentions

    def _name_here(self, node: int, words: Sequence[str]) -> _Name | None:
        """The name of a node that the words spell as it must be spelled; one with capitals before one without."""
        names: list[_Name] = [self._names[number] for number in (self._name_at[node], *self._more.get(node, ()))]
        if any(name.written is not None for name in names):
            written = tuple(atoms(" ".join(words)))
            names.sort(key=lambda name: name.written != written)
            names = [name for name in names if name.written in (None, written)]
        return names[0] if names else None

    def _add_source(
        self, source: str, concepts: list[Concept], groups: Groups, shortest: int, plurals: bool, unwanted: set[str]
    ) -> None:
        case = self.case
        if case == "smart" and says_nothing_by_capitals(name for concept in concepts for name in concept.names):
            case = "lower"
            self.notes.in_capitals.append(source)
        for concept in concepts:
            self.notes.concepts += 1
            self.notes.names += len(concept.names)
            type, label = groups.choose(concept.types)
            if label is None:
                self.notes.other_types[type or NO_TYPE] += len(concept.names)
                continue
            for other in sorted({groups.label(each) or label for each in concept.types} - {label}):
                self.notes.conflicts.append(NameConflict(concept.name, label, other))
            for text in filter(lambda text: self._is_fit(text, shortest, unwanted), concept.names):
                strict = case == "exact" or (case == "smart" and is_abbreviation(text))
                ranked = {text: 2 if text == concept.name else 1, plural(text) if plurals else None: 0}
                for spelled, rank in ranked.items():
                    if spelled is not None:
                        written = tuple(atoms(spelled)) if strict else None
                        self._add(spelled, _Name(text, type, label, rank, written))

    def _is_fit(self, text: str, shortest: int, unwanted: set[str]) -> bool:
        """Whether a name can be taken; if not, it is counted."""
        if not any(map(str.isalpha, text)):
            self.notes.without_letter += 1
        elif size(text) < shortest:
            self.notes.too_short += 1
        elif unwanted and _folded(text) in unwanted:
            self.notes.excluded += 1
        else:
            return True
        return False

    def _add(self, spelled: str, name: _Name) -> None:
        node = self._trie.add([atom.lower() for atom in atoms(spelled)])
        self._name_at.extend([-1] * (len(self._trie) - len(self._name_at)))
        here = [] if self._name_at[node] < 0 else [self._name_at[node], *self._more.get(node, ())]
        before = next((number for number in here if self._names[number].written == name.written), None)
        if before is None:
            if here:
                self._more.setdefault(node, []).append(len(self._names))
            else:
                self._name_at[node] = len(self._names)
            self._names.append(name)
            return
        other = self._names[before]
        kept, lost = (name, other) if name.rank > other.rank else (other, name)
        self._names[before] = kept
        if not lost.rank:  # whether a plural is wanted was nobody's word
            return
        if kept.label == lost.label:
            self.notes.twice += 1
        else:
            self.notes.conflicts.append(NameConflict(name.text, kept.label, lost.label))


def _folded(name: str) -> str:
    return " ".join(atoms(name)).lower()


def _nothing_left(notes: DictionaryNotes, groups: Groups) -> InputError:
    if not notes.other_types:
        return InputError("no name is left: all are too short, have no letter, or were excluded.")
    if set(notes.other_types) == {NO_TYPE}:
        advice = f"Pass {argument('single', ...)} with the label that their names are to get."
        return InputError(f"the concepts have no types. {advice}")
    types = ", ".join(f"{type} ({count:,})" for type, count in notes.other_types.most_common(5))
    problem = f"no name is left: none of the types has a label in the map {groups.name!r}; the types are {types}."
    advice = (
        f"Choose another map with {argument('groups', ...)}, or pass {argument('others', 'keep')} to have them all."
    )
    return InputError(f"{problem} {advice}")
