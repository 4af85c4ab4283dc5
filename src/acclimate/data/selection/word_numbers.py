"""Raw text to word numbers: the words of `words.find_words`, many times faster.

A chunk is what stands between two blanks ("bank,"). Each different chunk is split into words once and then looked up.
Keys have 64 bits: a byte string of up to eight bytes is its own key, and a longer one is hashed.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acclimate.data.pieces import ranges
from acclimate.data.readers.source import Tokenize
from acclimate.data.words import split_words

Keys = NDArray[np.uint64]
Numbers = NDArray[np.int64]

PADDING = bytes(8)  # what must follow a text of which chunks get keys: eight bytes are read at a time
NOT_FOUND = -1

_FIRST_BYTES = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
# large odd numbers without a pattern: a key times one of them lands far from its neighbours
_SPREADS = np.array([0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xC2B2AE3D27D4EB4F], np.uint64)
_HALF = np.uint64(32)


def chunk_keys(text: bytes, starts: Numbers, ends: Numbers) -> Keys:
    """A key for each chunk of a text that ends with PADDING; equal chunks get equal keys."""
    eight_bytes: Keys = np.ndarray((len(text) - 7,), "<u8", text, strides=(1,))
    lengths = ends - starts
    keys = eight_bytes[starts] & _FIRST_BYTES.take(lengths, mode="clip")
    longer = np.flatnonzero(lengths > 8)
    done = 8
    while longer.size:
        left = lengths[longer] - done
        more = eight_bytes[starts[longer] + done] & _FIRST_BYTES.take(left, mode="clip")
        keys[longer] = mixed(keys[longer], more)
        done += 8
        longer = longer[left > 8]
    return keys


def mixed(keys: Keys, others: Keys) -> Keys:
    """One key for each two, by hashing."""
    mixture: Keys = keys * _SPREADS[0]
    mixture ^= mixture >> _HALF
    mixture += others
    mixture *= _SPREADS[1]
    mixture ^= mixture >> np.uint64(29)
    return mixture


def pair_keys(left: Numbers, right: Numbers) -> Keys:
    """One key for each two numbers below 2^32. Nothing is hashed: different pairs have different keys."""
    keys: Keys = (left << 32 | right).view(np.uint64)
    return keys


def representatives_of(keys: Keys) -> Numbers:
    """For each key the place of one that equals it, the same place for all that are equal.

    All keys write their place into a table; those that read the place of an equal key there are done, and the others
    try again in another table. This takes a third of the time of sorting.
    """
    representatives: Numbers = np.arange(len(keys))
    left, turn = representatives.copy(), 0
    while left.size:
        mine = keys[left]
        slots = _slots(mine, 2 * left.size, turn)
        table: Numbers = np.empty(2 * left.size, np.int64)
        table[slots] = left
        met = table[slots]
        representatives[left] = met  # the next turn replaces the place of another key
        left, turn = left[keys[met] != mine], turn + 1
    return representatives


def _slots(keys: Keys, size: int, turn: int = 0) -> Numbers:
    """Where keys belong in a table; the same key elsewhere in another turn."""
    slots = keys * _SPREADS[turn % len(_SPREADS)]
    slots >>= _HALF
    slots *= np.uint64(size)
    slots >>= _HALF
    places: Numbers = slots.view(np.int64)
    return places


class KeyTable:
    """Numbers for keys, from 0 on, in the order in which they come: a hash table with linear probing."""

    def __init__(self, keys: Keys | None = None) -> None:
        """`keys` are the first ones, all different."""
        self._added: list[Keys] = []
        self._size = 0
        self._rows: Keys = np.zeros((0, 2), np.uint64)  # a key and its number side by side are fetched together
        self._add(np.zeros(0, np.uint64) if keys is None else keys)

    def __len__(self) -> int:
        return self._size

    def keys(self) -> Keys:
        """All keys, by their numbers."""
        return np.concatenate(self._added)

    def find(self, keys: Keys) -> Numbers:
        """The numbers of keys, NOT_FOUND for those without one."""
        slots = _slots(keys, len(self._rows))
        rows = self._rows.take(slots, axis=0)
        numbers = rows[:, 1].view(np.int64).copy()
        left = np.flatnonzero((rows[:, 0] != keys) & (numbers != NOT_FOUND))
        slots = slots[left]
        while left.size:
            slots = (slots + 1) % len(self._rows)
            rows = self._rows.take(slots, axis=0)
            numbers[left] = rows[:, 1].view(np.int64)
            goes_on = (rows[:, 0] != keys[left]) & (numbers[left] != NOT_FOUND)
            left, slots = left[goes_on], slots[goes_on]
        return numbers

    def number(self, keys: Keys) -> tuple[Numbers, Numbers]:
        """The numbers of keys, of which new ones get the next; and the places at which each new key stands once."""
        numbers = self.find(keys)
        new = np.flatnonzero(numbers == NOT_FOUND)
        equal = representatives_of(keys[new])
        first = np.flatnonzero(equal == np.arange(len(new)))
        own = np.empty(len(new), np.int64)
        own[first] = self._size + np.arange(len(first))
        numbers[new] = own[equal]
        self._add(keys[new[first]])
        return numbers, new[first]

    def _add(self, keys: Keys) -> None:
        """Put in keys that are all different and all new."""
        begin, self._size = self._size, self._size + len(keys)
        self._added.append(keys)
        if 5 * self._size >= 2 * len(self._rows):  # an emptier table needs fewer probes
            self._rows = np.zeros((6 * self._size + 512, 2), np.uint64)
            self._rows[:, 1].view(np.int64)[:] = NOT_FOUND
            begin, keys = 0, self.keys()
        numbers = np.arange(begin, self._size)
        slots = _slots(keys, len(self._rows))
        table_keys, table_numbers = self._rows[:, 0], self._rows[:, 1].view(np.int64)
        while keys.size:
            free = np.flatnonzero(table_numbers[slots] == NOT_FOUND)
            table_keys[slots[free]] = keys[free]
            placed = free[table_keys[slots[free]] == keys[free]]  # of several that want a slot, one
            table_numbers[slots[placed]] = numbers[placed]
            left = np.ones(len(keys), np.bool_)
            left[placed] = False
            keys, numbers, slots = keys[left], numbers[left], (slots[left] + 1) % len(self._rows)


def _marks(blanks: bytes) -> bytes:
    """A table for `bytes.translate`: 0 for a blank or line end, 1 for anything else."""
    return bytes(character not in blanks for character in range(256))


_NOT_BLANK = {"words": _marks(b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "), "blanks": _marks(b"\t\n\r ")}
_IS_PLAIN: NDArray[np.bool_] = np.array([code < 128 and chr(code).isalnum() for code in range(256)])


def cut_at_blanks(text: bytes, tokenize: Tokenize) -> tuple[Numbers, Numbers]:
    """Where chunks start and end, in a text that begins with a line end and ends with one and PADDING."""
    marks = np.frombuffer(text.translate(_NOT_BLANK[tokenize]), np.uint8, len(text) - len(PADDING))
    changes = np.flatnonzero(marks[1:] != marks[:-1]) + 1
    starts, ends = changes[0::2].copy(), changes[1::2].copy()  # a copy is read faster than every other number
    if tokenize == "blanks":
        return starts, ends
    joined = _split_with_the_next(text, starts, ends)
    return np.delete(starts, joined + 1), np.delete(ends, joined)


def _split_with_the_next(text: bytes, starts: Numbers, ends: Numbers) -> Numbers:
    """The chunks that are one with the next: in `J. Smith` and `No. 5` it decides whose the full stop is."""
    letters = np.frombuffer(text, np.uint8)
    stops = np.flatnonzero(letters[ends[:-1] - 1] == ord("."))
    last, third, fourth = (letters[ends[stops] - back] for back in (2, 3, 4))
    initial = (last >= ord("A")) & (last <= ord("Z")) & ~_IS_PLAIN[third]
    number = (last == ord("o")) & (third == ord("N"))
    numbers = (last == ord("s")) & (third == ord("o")) & (fourth == ord("N"))
    following = (starts[stops + 1] == ends[stops] + 1) & (letters[ends[stops]] != ord("\n"))
    found: Numbers = stops[(initial | number | numbers) & following]
    return found


def sums(counts: NDArray[np.generic]) -> Numbers:
    """The sum of none, of the first, of the first two, … of all."""
    total: Numbers = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=total[1:])
    return total


@dataclass(frozen=True)
class Block:
    """Whole lines of text and their chunks. Places count from the line end put before the text."""

    text: bytes
    starts: Numbers  # (chunk)
    ends: Numbers  # (chunk)
    borders: Numbers  # (line + 1): the first chunk of each line, and the number of chunks
    first_words: Numbers  # (chunk): where its words are in the list of all chunks' words
    counts: Numbers  # (chunk): how many words it has
    known: Numbers  # (chunk): how many of them are known

    def __len__(self) -> int:
        return len(self.borders) - 1

    def lines(self, chosen: Numbers) -> list[bytes]:
        """The text of lines that have some, without the blanks around it."""
        first, last = self.starts[self.borders[chosen]], self.ends[self.borders[chosen + 1] - 1]
        return [self.text[start:end] for start, end in zip(first.tolist(), last.tolist(), strict=True)]


@dataclass(frozen=True)
class NumberedLines:
    words: Numbers  # (word)
    lengths: Numbers  # (line): in words

    def __len__(self) -> int:
        return len(self.lengths)


class WordNumbers:
    """Words by number, and a memory of how chunks are split into them.

    The words of `known` keep the numbers from 0 on. All others are forgotten when `most` chunks are remembered: their
    numbers hold within a block only.
    """

    def __init__(self, known: Keys | None = None, *, lower_case: bool, tokenize: Tokenize, most: int | None) -> None:
        self.lower_case, self.tokenize, self.most = lower_case, tokenize, most
        self._known: Keys = np.zeros(0, np.uint64) if known is None else known
        self._forget()

    def _forget(self) -> None:
        self._words = KeyTable(self._known)
        self._chunks = KeyTable()
        self._lists = array("i")  # the words of one chunk after those of another
        self._ends = array("i", [0])  # of each chunk's words in `_lists`
        self._known_counts = array("i")  # of each chunk

    def keys(self) -> Keys:
        """The keys of all words, by their numbers."""
        return self._words.keys()

    def of(self, words: Sequence[str]) -> Numbers:
        """The numbers of words that are not to be split."""
        joined = "\n".join((*words, ""))
        text = (joined.lower() if self.lower_case else joined).encode() + PADDING
        ends = np.flatnonzero(np.frombuffer(text, np.uint8, len(text) - len(PADDING)) == ord("\n"))
        numbers, _ = self._words.number(chunk_keys(text, np.concatenate(([0], ends[:-1] + 1))[: len(ends)], ends))
        return numbers

    def read(self, text: bytes) -> Block:
        """Cut whole lines of UTF-8 into chunks, and look up the words of these."""
        if self.most is not None and (len(self._chunks) >= self.most or len(self._lists) >= 4 * self.most):
            self._forget()
        text = b"".join((b"\n", text, b"" if text.endswith(b"\n") else b"\n", PADDING))
        starts, ends = cut_at_blanks(text, self.tokenize)
        chunks, new = self._chunks.number(chunk_keys(text, starts, ends))
        self._learn([text[start:end] for start, end in zip(starts[new].tolist(), ends[new].tolist(), strict=True)])
        line_ends = np.flatnonzero(np.frombuffer(text, np.uint8, len(text) - len(PADDING)) == ord("\n"))
        borders = np.frombuffer(self._ends, np.int32).astype(np.int64)
        counts = np.diff(borders)[chunks]
        known = np.frombuffer(self._known_counts, np.int32).astype(np.int64)[chunks]
        return Block(text, starts, ends, np.searchsorted(starts, line_ends), borders[chunks], counts, known)

    def number(self, block: Block, chosen: Numbers) -> NumberedLines:
        """The words of some lines of the block read last."""
        sizes = np.diff(block.borders)[chosen]
        chunks = ranges(block.borders[chosen], sizes)
        counts = block.counts[chunks]
        words = np.frombuffer(self._lists, np.int32)[ranges(block.first_words[chunks], counts)].astype(np.int64)
        return NumberedLines(words, np.diff(sums(counts)[sums(sizes)]))

    def _learn(self, chunks: Sequence[bytes]) -> None:
        """Remember the words of new chunks."""
        texts = b"\n".join(chunks).decode().split("\n")[: len(chunks)]
        words, counts = (texts, np.ones(len(texts), np.int64)) if self.tokenize == "blanks" else _split(texts)
        numbers, borders = self.of(words), sums(counts)
        known = np.diff(sums(numbers < len(self._known))[borders])
        self._ends.frombytes((borders[1:] + len(self._lists)).astype(np.int32).tobytes())
        self._lists.frombytes(numbers.astype(np.int32).tobytes())
        self._known_counts.frombytes(known.astype(np.int32).tobytes())


def _split(chunks: Sequence[str]) -> tuple[list[str], Numbers]:
    """The words of all chunks, and how many each has: one search is faster. Their lengths tell whose they are."""
    words = split_words("\n\n".join(chunks))
    ends = np.cumsum(list(map(len, words)))
    lengths = [len("".join(chunk.split())) for chunk in chunks]  # without blanks that are not ASCII
    return words, np.diff(np.searchsorted(ends, np.cumsum(lengths), "right"), prepend=0)
