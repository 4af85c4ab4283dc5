"""Abbreviations that a text explains itself: after `familial adenomatous polyposis (FAP)`, FAP is that disease.

An explanation reaches to the end of its document. Where documents are not known it reaches over the next sentences
only: the next article may mean something else by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acclimate.data.concepts.finding import Finding
from acclimate.data.corpus import Sentence

REACH = 20  # sentences, where documents are not known
LONGEST = 10  # letters and digits of an abbreviation
MOST_WORDS = 4  # `A - T` is three words in some corpora
_OPEN, _CLOSE = "([", ")]"

Explained = tuple[Finding, int]  # the finding that it stands for, and the sentence where that was


class Abbreviations:
    """What was explained so far, as sentences come one after another."""

    def __init__(self) -> None:
        self.count = 0  # explanations met
        self._known: dict[str, dict[tuple[str, ...], Explained]] = {}  # by the first word
        self._document: str | None = None
        self._sentence = 0

    def begin(self, sentence: Sentence) -> None:
        """The next sentence; a new document forgets what the last one explained."""
        if sentence.document != self._document:
            self._known.clear()
            self._document = sentence.document
        self._sentence += 1

    def learn(self, words: Sequence[str], findings: Sequence[Finding]) -> bool:
        """Look for explanations behind these findings. Whether there were any."""
        learnt = False
        for finding in findings:
            short = _bracketed(words, finding.end)
            if short and explains(" ".join(words[finding.start : finding.end]), "".join(short)):
                self._known.setdefault(short[0], {})[short] = (finding, self._sentence)
                self.count += 1
                learnt = True
        return learnt

    def find(self, words: Sequence[str]) -> Iterator[Finding]:
        """Where explained abbreviations stand, written as they were explained."""
        for start, word in enumerate(words):
            for short, (meaning, since) in self._known.get(word, {}).items():
                near = self._document is not None or self._sentence - since <= REACH
                if near and tuple(words[start : start + len(short)]) == short:
                    yield Finding(start, start + len(short), meaning.types, meaning.name)


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
