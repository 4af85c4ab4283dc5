"""Blocks of text, cut at blanks: what stands between two of them is a stretch, of which a few words can be made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from acclimate.data.keys import PADDING, Keys, Numbers, mixed, stand_ins
from acclimate.data.readers.ledger import Tokenize
from acclimate.data.text_blocks import LONGEST_LINE

# what is remembered of a stretch shares the bits of one number, so that it is fetched at once
_COUNT_BITS = LONGEST_LINE.bit_length()  # no stretch has more words, as each has a byte at least
_KNOWN_BITS = 12
_MOST, _MANY = (1 << _COUNT_BITS) - 1, (1 << _KNOWN_BITS) - 1  # _MANY stands for any higher number too


def remembered(where: Numbers, counts: Numbers, known: Numbers) -> Numbers:
    """What to remember of stretches: where their words are in a list, how many they are, and how many are known."""
    return where << _COUNT_BITS + _KNOWN_BITS | counts << _KNOWN_BITS | np.minimum(known, _MANY)


def recalled(entries: Numbers) -> tuple[Numbers, Numbers]:
    """Where the words are, and how many."""
    return entries >> _COUNT_BITS + _KNOWN_BITS, entries >> _KNOWN_BITS & _MOST


def _marks(blanks: bytes) -> bytes:
    """A table for `bytes.translate`: 0 for a blank or line end, 1 for anything else."""
    return bytes(character not in blanks for character in range(256))


_NOT_BLANK = {"words": _marks(b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "), "blanks": _marks(b"\t\n\r ")}
_IS_PLAIN: NDArray[np.bool_] = np.array([code < 128 and chr(code).isalnum() for code in range(256)])


@dataclass(frozen=True)
class Block:
    """Whole lines of text and the stretches between blanks. Places count from the line end put before the text."""

    text: bytes
    starts: Numbers  # (stretch)
    ends: Numbers  # (stretch)
    reaches: Numbers  # (stretch): how far one must look to split it
    keys: Keys  # (stretch)
    entries: Numbers  # (stretch): what is remembered of it, or NOT_FOUND
    borders: Numbers  # (line + 1): the first stretch of each line, and the number of stretches

    def __len__(self) -> int:
        return len(self.borders) - 1

    @cached_property
    def most_known(self) -> Numbers:
        """(line): it has no more known words than this."""
        return np.diff(sums(self._most_known)[self.borders])

    @cached_property
    def _most_known(self) -> Numbers:
        """(stretch). All words of a new one may be known. It has at most one for each sign, and for each run of letters
        and digits: these are only split where an apostrophe follows (do|n't)."""
        known = self.entries & _MANY
        unsure = np.flatnonzero(known == _MANY)  # new ones among them, as all bits of NOT_FOUND are set
        starts, lengths = self.starts[unsure], self.ends[unsure] - self.starts[unsure]
        letters, places = np.frombuffer(self.text, np.uint8), ranges(starts, lengths)
        begins_word = ~(_IS_PLAIN[letters[places]] & _IS_PLAIN[letters[places - 1]])
        known[unsure] = np.diff(sums(begins_word)[sums(lengths)])
        return known

    def most_different_known(self, chosen: Numbers) -> Numbers:
        """(chosen line): it has no more different known words than this, as what it says twice counts once."""
        stretches, counts = self.stretches(chosen)
        line_keys = np.repeat(chosen.astype(np.uint64), counts)
        first = stand_ins(mixed(self.keys[stretches], line_keys)) == np.arange(len(stretches))
        return np.diff(sums(self._most_known[stretches] * first)[sums(counts)])

    def stretches(self, chosen: Numbers) -> tuple[Numbers, Numbers]:
        """The stretches of some lines, and how many each line has."""
        firsts, counts = self.borders[chosen], self.borders[chosen + 1] - self.borders[chosen]
        return ranges(firsts, counts), counts

    def texts(self, stretches: Numbers) -> list[str]:
        places = zip(self.starts[stretches].tolist(), self.ends[stretches].tolist(), strict=True)
        return b"\n".join([self.text[start:end] for start, end in places]).decode().split("\n")[: len(stretches)]

    def lines(self, chosen: Numbers) -> list[bytes]:
        """The text of lines that have some, without the blanks around it."""
        first, last = self.starts[self.borders[chosen]], self.ends[self.borders[chosen + 1] - 1]
        return [self.text[start:end] for start, end in zip(first.tolist(), last.tolist(), strict=True)]


def cut_at_blanks(text: bytes, tokenize: Tokenize) -> tuple[Numbers, Numbers]:
    """Where stretches start and end, in a text that begins with a line end and ends with one and PADDING."""
    marks = np.frombuffer(text.translate(_NOT_BLANK[tokenize]), np.uint8, len(text) - len(PADDING))
    changes = np.flatnonzero(marks[1:] != marks[:-1]) + 1
    return changes[0::2].copy(), changes[1::2].copy()  # a copy is read faster than every other number


def keys_with_next(text: bytes, starts: Numbers, ends: Numbers, keys: Keys) -> tuple[Keys, Numbers]:
    """After an initial (`J. Smith`) and after `No. 5` one must look at what comes next to know what the full stop is:
    there the key is that of both stretches. Returns the keys, and how far one must look."""
    letters = np.frombuffer(text, np.uint8)
    stops = np.flatnonzero(letters[ends[:-1] - 1] == ord("."))
    last, third, fourth = (letters[ends[stops] - back] for back in (2, 3, 4))
    initial = (last >= ord("A")) & (last <= ord("Z")) & ~_IS_PLAIN[third]
    number = (last == ord("o")) & (third == ord("N"))
    numbers = (last == ord("s")) & (third == ord("o")) & (fourth == ord("N"))
    following = (starts[stops + 1] == ends[stops] + 1) & (letters[ends[stops]] != ord("\n"))
    stops = stops[(initial | number | numbers) & following]
    keys[stops] = mixed(keys[stops], ~keys[stops + 1])  # turned over: it is not the key of both without a blank
    reaches = ends.copy()
    reaches[stops] = ends[stops + 1]
    return keys, reaches


def sums(counts: NDArray[np.generic]) -> Numbers:
    """The sum of none, of the first, of the first two, … of all."""
    total: Numbers = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=total[1:])
    return total


def ranges(starts: Numbers, counts: Numbers) -> Numbers:
    """The numbers from each start on, as many as it counts: [5, 8], [2, 3] → 5 6 8 9 10."""
    borders = sums(counts)
    places: Numbers = np.repeat(starts - borders[:-1], counts)
    places += np.arange(borders[-1])
    return places
