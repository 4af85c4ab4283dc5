"""Raw text as numbers, for training word vectors: read once, line by line, spelled as a tagger's table spells it."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acclimate.data.problems import InputError
from acclimate.data.readers.detection import detect_format
from acclimate.data.readers.opening import Source, inner_name
from acclimate.data.reading import read_corpus
from acclimate.data.running_text import paragraphs
from acclimate.data.words import find_words
from acclimate.model.encoders.vector_files import decoded, numbered_lines
from acclimate.model.encoders.vectors import in_table

_LOOKED_AT = 1000  # lines: enough to tell columns from raw text


@dataclass(frozen=True)
class NumberedText:
    """A text of which only words remain that occur often enough to learn something about."""

    words: tuple[str, ...]  # by number, the commonest first
    counts: NDArray[np.int64]  # (word)
    numbers: NDArray[np.int32]  # (running word)
    paragraphs: NDArray[np.int32]  # (running word): which one it stands in; words of two paragraphs are no neighbours
    running_words: int  # before the rare ones were left out
    different_words: int

    @classmethod
    def of(cls, paragraphs: Iterable[Sequence[str]], *, lower_case: bool = True, least_count: int = 5) -> NumberedText:
        entries = _Entries(lower_case)
        found, lengths = array("i"), array("i")
        for words in paragraphs:
            found.extend(map(entries.__getitem__, words))
            lengths.append(len(words))
        numbers = np.frombuffer(found, np.int32) if found else np.zeros(0, np.int32)
        counts = np.bincount(numbers, minlength=len(entries.numbers))
        names = list(entries.numbers)
        kept = sorted(np.flatnonzero(counts >= least_count).tolist(), key=lambda entry: (-counts[entry], names[entry]))
        if len(kept) < 2:
            raise _too_little(names, counts, least_count)
        renumbered = np.full(len(names), -1, np.int32)
        renumbered[kept] = np.arange(len(kept))
        numbers = renumbered[numbers]
        stays = numbers >= 0
        places = np.repeat(np.arange(len(lengths), dtype=np.int32), np.frombuffer(lengths, np.int32))
        words_kept = tuple(names[entry] for entry in kept)
        return cls(words_kept, counts[kept], numbers[stays], places[stays], len(found), len(names))


class _Entries(dict[str, int]):
    """Numbers by spelling. Lower-casing and the digits are seen to once per spelling, not once per running word."""

    def __init__(self, lower_case: bool) -> None:
        super().__init__()
        self.lower_case = lower_case
        self.numbers: dict[str, int] = {}

    def __missing__(self, spelling: str) -> int:
        if "\n" in spelling:  # said before the training, not after it
            raise InputError("a word with a line end in it cannot stand in a file of vectors.", text=spelling)
        number = self.numbers.setdefault(in_table(spelling, self.lower_case), len(self.numbers))
        self[spelling] = number
        return number


def _too_little(names: list[str], counts: NDArray[np.int64], least_count: int) -> InputError:
    if not names:
        return InputError("the text has no words.")
    commonest = int(counts.argmax())
    problem = f"fewer than two words occur {least_count:,} times; the commonest, {names[commonest]!r}, comes"
    return InputError(f"{problem} {counts[commonest]:,} times. Give more text, or a smaller --least-count.")


def read_paragraphs(path: str | Path, format: str | None = None) -> Iterator[list[str]]:
    """The words of each line of raw text (plain, .gz, .xz, a folder of .txt files, `-`), or of a corpus's sentences.

    Raw text is never held as a whole: text for vectors may be larger than the memory. `format` is found out when it is
    not given; standard input is then raw text.
    """
    if str(path) == "-" and format in (None, "text"):
        lines = (decoded(line, "<stdin>", number) for number, line in enumerate(sys.stdin.buffer, start=1))
        yield from filter(None, map(_words, lines))
        return
    format = format or detect_format(_Beginning(path))
    if format != "text":
        yield from (list(sentence.words) for sentence in read_corpus(path, format))
        return
    for file in _text_files(Path(path)):
        yield from filter(None, map(_words, paragraphs(file)))


def _words(text: str) -> list[str]:
    return [text[start:end] for start, end in find_words(text)]


def _text_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(entry for entry in path.iterdir() if inner_name(entry.name).endswith(".txt"))


class _Beginning(Source):
    """The first lines of a file, from which its format is told."""

    @cached_property
    def data(self) -> bytes:
        return b"".join(line for _, line in islice(numbered_lines(self.path, "text"), _LOOKED_AT))
