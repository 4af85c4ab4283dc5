"""A dictionary of concepts, which finds all its names in a sentence in one pass.

Names and text are compared as atoms: a run of letters and digits, or one other sign. So `Parkinson's` matches
`Parkinson 's`. A match begins and ends where words do. Case counts always (`exact`), never (`lower`), or for
abbreviations only (`smart`).
"""

from __future__ import annotations

import re
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from acclimate.data.concepts.files import Concept
from acclimate.data.concepts.labelling import NO_TYPE, Groups, Mention
from acclimate.data.problems import InputError
from acclimate.spelling import argument, either

CasePolicy = Literal["smart", "lower", "exact"]

LONGEST_ABBREVIATION = 6  # letters and digits; longer names in capitals are no abbreviations
_ATOM = re.compile(r"[^\W_]+|\S")
_SAME_SIGNS = str.maketrans({"’": "'", "‘": "'", "＇": "'", "‐": "-", "‑": "-", "–": "-", "−": "-"})


def atoms(text: str) -> list[str]:
    """`Parkinson’s disease` → `Parkinson`, `'`, `s`, `disease`."""
    return _ATOM.findall(text.translate(_SAME_SIGNS))


def size(name: str) -> int:
    """How many letters and digits a name has."""
    return sum(map(str.isalnum, name))


def is_abbreviation(name: str) -> bool:
    """Short, and all letters are capitals, of which there are two at least: ALS, MS, T2DM, 5-FU."""
    return size(name) <= LONGEST_ABBREVIATION and name.isupper() and sum(map(str.isalpha, name)) > 1


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
    left_out: Counter[str] = field(default_factory=Counter)  # names, by the reason
    other_types: Counter[str] = field(default_factory=Counter)  # names left out, by the type that has no label
    conflicts: list[NameConflict] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    label: str
    is_main: bool  # whether it is the name itself of its concept, or a synonym
    written: tuple[str, ...] | None  # the atoms that must stand there as written


class ConceptDictionary:
    """Names of concepts, ready to be found. `notes` tell what became of them.

    A name with two labels gets that of the concept whose main name it is, or else of the one that comes first.
    """

    def __init__(
        self,
        sources: Iterable[Iterable[Concept]],
        groups: Groups,
        *,
        case: CasePolicy = "smart",
        shortest: int = 2,
        exclude: Iterable[str] = (),
    ) -> None:
        """The names of all concepts whose type has a label.

        shortest: the fewest letters and digits of a name. exclude: names to leave out.
        """
        self.case = case
        self.notes = DictionaryNotes()
        self._names: dict[tuple[str, ...], list[_Name]] = {}  # by their atoms in lower case
        self._lengths: dict[str, list[int]] = {}  # in atoms, of the names that begin with an atom
        unwanted = set(map(_folded, exclude))
        for concept in chain.from_iterable(sources):
            self._add_concept(concept, groups, shortest, unwanted)
        if not self._names:
            raise _nothing_left(self.notes, groups)

    def __len__(self) -> int:
        """How many different names can be found."""
        return len({name.text for names in self._names.values() for name in names})

    def find(self, words: Sequence[str]) -> list[Mention]:
        """Every name in a sentence, overlapping ones too."""
        text: list[str] = []
        word_at: list[int] = []  # by atom: the number of the word that it begins, or -1
        for place, word in enumerate(words):
            own = _folded(word)
            text += own
            word_at += [place, *[-1] * (len(own) - 1)][: len(own)]
        word_at.append(len(words))
        mentions: list[Mention] = []
        for first, atom in enumerate(text):
            start = word_at[first]
            for length in self._lengths.get(atom, ()) if start >= 0 else ():
                end = word_at[first + length] if first + length < len(word_at) else -1
                names = self._names.get(tuple(text[first : first + length]), ()) if end >= 0 else ()
                name = _fitting(names, words[start:end]) if names else None
                if name is not None:
                    mentions.append(Mention(start, end, name.label, name.text))
        return mentions

    def _add_concept(self, concept: Concept, groups: Groups, shortest: int, unwanted: set[tuple[str, ...]]) -> None:
        self.notes.concepts += 1
        self.notes.names += len(concept.names)
        type, label = groups.choose(concept.types)
        if label is None:
            self.notes.other_types[type or NO_TYPE] += len(concept.names)
            return
        for other in sorted({groups.label(each) or label for each in concept.types} - {label}):
            self.notes.conflicts.append(NameConflict(concept.name, label, other))
        for text in concept.names:
            if not any(map(str.isalpha, text)):
                self.notes.left_out["without a letter"] += 1
            elif size(text) < shortest:
                self.notes.left_out["too short"] += 1
            elif unwanted and _folded(text) in unwanted:
                self.notes.left_out["left out as asked"] += 1
            else:
                strict = self.case == "exact" or (self.case == "smart" and is_abbreviation(text))
                written = tuple(atoms(text)) if strict else None
                self._add(_Name(text, label, text == concept.name, written))

    def _add(self, name: _Name) -> None:
        key = _folded(name.text)
        lengths = self._lengths.setdefault(key[0], [])
        if len(key) not in lengths:
            insort(lengths, len(key))
        names = self._names.setdefault(key, [])
        place = next((place for place, one in enumerate(names) if one.written == name.written), None)
        if place is None:
            names.append(name)
            return
        other = names[place]
        winner, loser = (name, other) if name.is_main > other.is_main else (other, name)
        names[place] = winner
        if winner.label == loser.label:
            self.notes.left_out["twice there"] += 1
        else:
            self.notes.conflicts.append(NameConflict(name.text, winner.label, loser.label))


def _fitting(names: Sequence[_Name], words: Sequence[str]) -> _Name | None:
    """The name that the words spell as it must be spelled, or else one without capitals to compare."""
    if any(name.written is not None for name in names):
        written = tuple(atoms(" ".join(words)))
        for name in names:
            if name.written == written:
                return name
    return next((name for name in names if name.written is None), None)


@lru_cache(maxsize=1 << 20)
def _folded(name: str) -> tuple[str, ...]:
    """Its atoms in lower case."""
    return tuple(atom.lower() for atom in atoms(name))


def _nothing_left(notes: DictionaryNotes, groups: Groups) -> InputError:
    if not notes.other_types:
        return InputError("no name is left: all are too short, have no letter, or were excluded.")
    if set(notes.other_types) == {NO_TYPE}:
        given = either("Groups.load(…, single=LABEL)", argument("label", ...))
        advice = f"Pass {given} with the label that their names are to get."
        return InputError(f"the concepts have no types. {advice}")
    types = ", ".join(f"{type} ({count:,})" for type, count in notes.other_types.most_common(5))
    problem = f"no name is left: none of the types has a label in the map {groups.name!r}; the types are {types}."
    advice = (
        f"Choose another map with {argument('groups', ...)}, or pass {argument('others', 'keep')} to have them all."
    )
    return InputError(f"{problem} {advice}")
