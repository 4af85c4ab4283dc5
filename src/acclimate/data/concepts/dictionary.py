"""A dictionary of concepts, and every place where one of its names stands in a sentence.

A name matches where its atoms stand one after another, the first at a word's beginning and the last at a word's end.
Capitals count as the policy says: `exact` always, `lower` never, `smart` for abbreviations alone (see `spelling`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acclimate.data.concepts.automaton import Automaton
from acclimate.data.concepts.concept import Concept
from acclimate.data.concepts.finding import Finding
from acclimate.data.concepts.groups import NO_TYPE, Groups
from acclimate.data.concepts.name_notes import DictionaryNotes, NameConflict
from acclimate.data.concepts.spelling import CasePolicy, atoms, is_abbreviation, plural, says_nothing_by_capitals, size
from acclimate.data.corpus import Sentence
from acclimate.data.problems import InputError

_MOST_REMEMBERED = 1 << 20  # different words whose atoms are kept


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    type: str
    label: str
    rank: int  # 2: the name itself of its concept; 1: a synonym; 0: the plural of one of them
    written: tuple[str, ...] | None  # the atoms that must stand there as written


class ConceptDictionary:
    """Names of concepts, ready to be found. Build it with `ConceptDictionary.of`.

    A name that would get two labels gets that of the concept whose main name it is; among equals, of the one that comes
    first. `notes` lists such names, and counts what was left out.
    """

    def __init__(self, case: CasePolicy = "smart") -> None:
        self.case = case
        self.notes = DictionaryNotes()
        self._automaton = Automaton()
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

        shortest: names of fewer letters and digits are left out. plurals: a name may also take an s at its end.
        exclude: names to leave out, whatever their capitals.
        """
        dictionary = cls(case)
        unwanted = {_folded(name) for name in exclude}
        for source, concepts in sources.items():
            dictionary._add_source(source, list(concepts), groups, shortest, plurals, unwanted)
        if not dictionary._names:
            raise _nothing_left(dictionary.notes, groups)
        dictionary._automaton.close()
        return dictionary

    def __len__(self) -> int:
        """How many different names can be found, plurals not counted."""
        return len({name.text for name in self._names})

    def annotate(self, sentences: Sequence[Sentence]) -> Iterator[list[Finding]]:
        return (self.find(sentence.words) for sentence in sentences)

    def find(self, words: Sequence[str]) -> list[Finding]:
        """Every name in a sentence, overlapping ones too."""
        numbers: list[int] = []
        word_at: list[int] = []  # by atom: the number of the word that it begins, or -1
        for place, word in enumerate(words):
            found = self._atoms.get(word)
            if found is None:
                found = self._remember(word)
            numbers += found
            word_at += [place] if len(found) == 1 else [place, *[-1] * (len(found) - 1)][: len(found)]
        word_at.append(len(words))
        findings: list[Finding] = []
        for first, last, node in self._automaton.matches(numbers):
            start, end = word_at[first], word_at[last]
            if start >= 0 and end >= 0:
                name = self._name_here(node, words[start:end])
                if name is not None:
                    findings.append(Finding(start, end, (name.type,) if name.type else (), name.text))
        return findings

    def _remember(self, word: str) -> tuple[int, ...]:
        if len(self._atoms) >= _MOST_REMEMBERED:
            self._atoms.clear()
        numbers = self._automaton.numbers([atom.lower() for atom in atoms(word)])
        self._atoms[word] = numbers
        return numbers

    def _name_here(self, node: int, words: Sequence[str]) -> _Name | None:
        """The name of a node that the words spell as it must be spelled; one with capitals before one without."""
        names: list[_Name] = [self._names[number] for number in (self._name_at[node], *self._more.get(node, ()))]
        strict = [name for name in names if name.written is not None]
        if strict:
            written = tuple(atoms(" ".join(words)))
            for name in strict:
                if name.written == written:
                    return name
        return next((name for name in names if name.written is None), None)

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
        node = self._automaton.add([atom.lower() for atom in atoms(spelled)])
        self._name_at.extend([-1] * (len(self._automaton) - len(self._name_at)))
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
    if notes.other_types:
        if set(notes.other_types) == {NO_TYPE}:
            return InputError("the concepts have no types. Pass single= with the label that their names are to get.")
        types = ", ".join(f"{type} ({count:,})" for type, count in notes.other_types.most_common(5))
        problem = f"no name is left: none of the types has a label in the map {groups.name!r}; the types are {types}."
        return InputError(f'{problem} Choose another map with groups=, or pass others="keep" to have them all.')
    return InputError("no name is left: all are too short, have no letter, or were excluded.")
