"""Weak labels: the mentions that a dictionary finds become the spans of a corpus, or of a stream of raw text.

A map of semantic types gives the labels. Of overlapping mentions the longest wins, then the leftmost, then the first.
After `familial adenomatous polyposis (FAP)`, FAP is that disease to the end of the document, or, where documents are
not known, in the next few sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from acclimate.data.corpus import Sentence
from acclimate.data.mapping import LabelMap
from acclimate.data.problems import InputError
from acclimate.data.schemes import Span

if TYPE_CHECKING:
    from acclimate.data.concepts.dictionary import ConceptDictionary


@dataclass(frozen=True, slots=True)
class Mention:
    """The words `start` to `end` (exclusive) are a name of a concept that gets this label."""

    start: int
    end: int
    label: str
    name: str  # as the dictionary spells it

    def __len__(self) -> int:
        return self.end - self.start


BUNDLED_GROUPS = {
    "table-12": "15 UMLS types as DISEASE, SYMPTOM, TREATMENT, as in MSLM's Table 12",
    "clinical": "the same, and also procedures, devices, injuries, pathologic functions and findings",
}
NO_GROUPS = "none"
AUTO_GROUPS = "auto"
NO_TYPE = "(none)"  # what reports call it
Others = Literal["drop", "keep"]


@dataclass(frozen=True)
class Groups:
    """Which label a semantic type gets (None: its names are left out). Types are compared without case."""

    labels: Mapping[str, str | None] = field(default_factory=dict)  # by types in lower case
    others: Others = "drop"  # what becomes of types that the map does not name
    single: str | None = None  # one label for all that is not left out
    name: str = NO_GROUPS

    @classmethod
    def load(cls, source: str | Path = "table-12", others: Others = "drop", single: str | None = None) -> Groups:
        """From a YAML file as `--map` takes it, a bundled map by its name, or `none`: every type is its own label."""
        if source == NO_GROUPS:
            return cls({}, "keep", single)
        if source in BUNDLED_GROUPS and not Path(source).exists():
            return cls.of(_bundled(str(source)), others, single)
        if not Path(source).exists():
            known = ", ".join((*BUNDLED_GROUPS, NO_GROUPS))
            raise InputError(f"there is no such map of types. Give a YAML file, or one of {known}.", file=source)
        return cls.of(LabelMap.load(source), others, single)

    @classmethod
    def suited_to(cls, types: Iterable[str], others: Others = "drop", single: str | None = None) -> Groups:
        """`table-12` where it names one of these types; else they are no UMLS types, but labels already."""
        label_map = _bundled("table-12")
        named = {type.lower() for type, _ in label_map.items()}
        if any(type.lower() in named for type in types):
            return cls.of(label_map, others, single)
        return cls.load(NO_GROUPS, single=single)

    @classmethod
    def of(cls, label_map: LabelMap, others: Others = "drop", single: str | None = None) -> Groups:
        labels: dict[str, str | None] = {label.lower(): label for label in label_map.results}
        return cls(labels | {type.lower(): label for type, label in label_map.items()}, others, single, label_map.name)

    def label(self, type: str) -> str | None:
        """A type without a name (a list of names alone) is left out, unless there is one label for all."""
        if not type:
            return self.single
        label = self.labels.get(type.lower(), type if self.others == "keep" else None)
        return None if label is None else self.single or "_".join(label.split())

    def choose(self, types: Iterable[str]) -> tuple[str, str | None]:
        """Of the types of one concept the first that has a label, and the label."""
        first = ""
        for type in types or ("",):
            first = first or type
            label = self.label(type)
            if label is not None:
                return type, label
        return first, None


def _bundled(name: str) -> LabelMap:
    with as_file(files("acclimate.data.concepts") / "groups" / f"{name}.yaml") as file:
        return LabelMap.load(file)


REACH = 20  # sentences, where documents are not known
LONGEST = 10  # letters and digits of an abbreviation
MOST_WORDS = 4  # `A - T` is three words in some corpora
_OPEN, _CLOSE = "([", ")]"

Explained = tuple[Mention, int]  # the finding that it stands for, and the sentence where that was


class Abbreviations:
    """What was explained so far, as sentences come one after another."""

    def __init__(self) -> None:
        self.count = 0  # explanations met
        self._known: dict[str, dict[tuple[str, ...], Explained]] = {}  # by the first word
        self._document: str | None = None
        self._sentence = 0

    def find(self, sentence: Sentence, mentions: Sequence[Mention]) -> list[Mention]:
        """Learn what the next sentence explains behind these findings, and find what was explained, as it was written.
        A new document forgets what the last one explained."""
        if sentence.document != self._document:
            self._known.clear()
            self._document = sentence.document
        self._sentence += 1
        words = sentence.words
        for mention in mentions:
            short = _bracketed(words, mention.end)
            if short and explains(" ".join(words[mention.start : mention.end]), "".join(short)):
                self._known.setdefault(short[0], {})[short] = (mention, self._sentence)
                self.count += 1
        found = []
        for start, word in enumerate(words):
            for short, (meaning, since) in self._known.get(word, {}).items():
                near = self._document is not None or self._sentence - since <= REACH
                if near and tuple(words[start : start + len(short)]) == short:
                    found.append(Mention(start, start + len(short), meaning.label, meaning.name))
        return found


def explains(long: str, short: str) -> bool:
    """Whether a short form may stand for a long one: it begins alike, and its letters stand there in that order."""
    letters = [letter for letter in short if letter.isalnum()]
    if not 2 <= len(letters) <= LONGEST or sum(map(str.isupper, letters)) < 2 or len(long) <= len(short):
        return False
    left = iter(long.lower())
    in_order = all(letter.lower() in left for letter in letters if letter.isalpha())
    return in_order and long[0].lower() == letters[0].lower()


def _bracketed(words: Sequence[str], place: int) -> tuple[str, ...]:
    """The few words between brackets that open at a place."""
    if place >= len(words) or words[place] not in tuple(_OPEN):
        return ()
    inside = words[place + 1 : place + 2 + MOST_WORDS]
    end = next((number for number, word in enumerate(inside) if word in tuple(_CLOSE)), 0)
    return tuple(inside[:end])


@dataclass
class Coverage:
    """What was met in the text."""

    sentences: int = 0
    labelled_sentences: int = 0
    words: int = 0
    covered_words: int = 0
    spans: Counter[str] = field(default_factory=Counter)  # by label
    names: Counter[tuple[str, str]] = field(default_factory=Counter)  # spans by name and label
    explained: int = 0  # abbreviations that the text explains
    by_abbreviation: int = 0  # spans that were found by them

    def as_dict(self, most: int = 20) -> dict[str, Any]:
        """Plain JSON types; of the lists, the most frequent."""
        return {
            "sentences": self.sentences,
            "labelled_sentences": self.labelled_sentences,
            "words": self.words,
            "covered_words": self.covered_words,
            "spans": dict(self.spans.most_common()),
            "names_found": len(self.names),
            "most_frequent": [[name, label, count] for (name, label), count in self.names.most_common(most)],
            "abbreviations_explained": self.explained,
            "spans_by_abbreviation": self.by_abbreviation,
        }


class Labeller:
    """Labels sentences one after another; `coverage` tells how it went so far. Sentences must come in their order."""

    def __init__(self, dictionary: ConceptDictionary, *, abbreviations: bool = True) -> None:
        self.dictionary = dictionary
        self.coverage = Coverage()
        self._abbreviations = Abbreviations() if abbreviations else None

    def label(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences with IOB2 tags, instead of any tags that they have."""
        for sentence in sentences:
            mentions = self._mentions(sentence)
            spans = [Span(mention.start, mention.end, mention.label) for mention in mentions]
            self._count(sentence, mentions)
            yield sentence.with_tags(None).with_spans(spans)

    def _mentions(self, sentence: Sentence) -> list[Mention]:
        own = self.dictionary.find(sentence.words)
        chosen = choose(own)
        if self._abbreviations is not None:
            more = self._abbreviations.find(sentence, chosen)
            self.coverage.explained = self._abbreviations.count
            places = {(mention.start, mention.end) for mention in own}
            chosen = choose([*own, *more])
            self.coverage.by_abbreviation += sum((mention.start, mention.end) not in places for mention in chosen)
        return chosen

    def _count(self, sentence: Sentence, chosen: Sequence[Mention]) -> None:
        coverage = self.coverage
        coverage.sentences += 1
        coverage.labelled_sentences += bool(chosen)
        coverage.words += len(sentence)
        coverage.covered_words += sum(map(len, chosen))
        coverage.spans.update(mention.label for mention in chosen)
        coverage.names.update((mention.name, mention.label) for mention in chosen)


def choose(mentions: Sequence[Mention]) -> list[Mention]:
    """Findings that do not overlap, in the order of the text: the longest first, then the leftmost."""
    if len(mentions) < 2:
        return list(mentions)
    taken: set[int] = set()
    chosen: list[Mention] = []
    for mention in sorted(mentions, key=lambda mention: (-len(mention), mention.start)):
        places = range(mention.start, mention.end)
        if taken.isdisjoint(places):
            taken.update(places)
            chosen.append(mention)
    return sorted(chosen, key=lambda mention: mention.start)
