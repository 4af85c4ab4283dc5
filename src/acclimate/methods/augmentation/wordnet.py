"""Synonyms from WordNet's database files, as WordNet comes (Debian's `wordnet-base` puts them in /usr/share/wordnet).

For each part of speech there are two files. In `index.noun` a line is, say, `pup n 2 1 @ 2 0 00000148 00000310`: the
word, some counts and pointers, and the bytes at which its two meanings begin in `data.noun`, the commonest first. The
line at byte 148 is then `00000148 05 n 02 pup 0 whelp 0 ... | young dog`: how many words share the meaning (a
hexadecimal number), and which ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from acclimate.data.problems import InputError
from acclimate.data.readers.opening import Source
from acclimate.data.stop_words import STOP_WORDS
from acclimate.methods.augmentation.synonyms import in_any_case

PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
_POSITION_OF_ADJECTIVE = re.compile(r"\((?:a|p|ip)\)$")  # where it may stand, written behind the word


class WordNet:
    """Words that share a meaning. Words are looked up as they are written: `dogs` is not found under `dog`.

    Of each part of speech the `senses` commonest meanings count: rare ones give `frump` for `dog`. Left out are
    synonyms of several words, and names, which would look like entities that nobody has marked. Words of `skip` get no
    synonyms: WordNet has no pronouns and articles, and takes `a` for a unit and `it` for a trade.
    """

    def __init__(self, folder: str | Path, senses: int = 1, skip: Collection[str] = STOP_WORDS) -> None:
        if senses < 1:
            raise ValueError(f"At least one sense of a word must count, not {senses}.")
        self.senses, self.skip = senses, skip
        self._files = [_Files(Path(folder), part) for part in _parts_in(Path(folder))]
        self._known: dict[str, Sequence[str]] = {}

    def of(self, word: str) -> Sequence[str]:
        if word not in self._known:
            skipped = word.lower() in self.skip
            self._known[word] = () if skipped else in_any_case(word, self._synonyms)
        return self._known[word]

    def _synonyms(self, word: str) -> Iterator[str]:
        if word != word.lower():
            return  # the index is in lower case throughout
        for files in self._files:
            for place in files.index.get(word, ())[: self.senses]:
                for synonym in files.words_at(place):
                    if "_" not in synonym and synonym == synonym.lower() and synonym != word:
                        yield synonym


class _Files:
    """The index and the data of one part of speech."""

    def __init__(self, folder: Path, part: str) -> None:
        self._index, self._data = Source(folder / f"index.{part}"), Source(folder / f"data.{part}")

    @cached_property
    def index(self) -> dict[str, tuple[int, ...]]:
        """Where the meanings of each word stand in the data."""
        found = {}
        for number, line in enumerate(self._index.lines, start=1):
            if line.startswith(" ") or not line.strip():
                continue  # the licence stands on top, two blanks before each line
            fields = line.split()
            try:
                count = int(fields[2])
                places = tuple(map(int, fields[-count:]))
                complete = len(fields) == 6 + int(fields[3]) + count
            except (IndexError, ValueError):
                complete = False
            if not complete:
                problem = "this is no line of a WordNet index: a word, counts, pointers and the places of its meanings."
                raise InputError(problem, file=self._index.name, line=number, text=line)
            found[fields[0]] = places
        return found

    def words_at(self, place: int) -> list[str]:
        data = self._data.data
        end = data.find(b"\n", place)
        line = data[place : len(data) if end < 0 else end].decode("utf-8", "replace")
        fields = line.split()
        try:
            complete = int(fields[0]) == place
            words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        except (IndexError, ValueError):
            complete = False
        if not complete or len(words) != int(fields[3], 16):
            problem = f"no meaning begins at byte {place}, as {self._index.name} says. Are both of one version?"
            raise InputError(problem, file=self._data.name, text=line)
        return [_POSITION_OF_ADJECTIVE.sub("", word) for word in words]


def _parts_in(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise InputError("there is no such folder; name the one with WordNet's index.noun and data.noun.", file=folder)
    parts = [part for part in PARTS_OF_SPEECH if (folder / f"index.{part}").exists()]
    if not parts:
        names = ", ".join(f"index.{part}" for part in PARTS_OF_SPEECH)
        raise InputError(f"no files of WordNet in this folder: expected {names}, and data files.", file=folder)
    for part in parts:
        if not (folder / f"data.{part}").exists():
            raise InputError(f"there is index.{part} but no data.{part}, where the synonyms stand.", file=folder)
    return parts
