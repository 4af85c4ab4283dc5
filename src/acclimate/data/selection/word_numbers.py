"""Raw text to word numbers: the words of `words.find_words`, many times faster.

A chunk is what stands between two blanks ("bank,"). Each different chunk is split into words once and then looked up.
Keys have 64 bits: a byte string of up to eight bytes is its own key, and a longer one is hashed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from acclimate.data.readers.source import Tokenize
from acclimate.data.selection.text_files import LONGEST_LINE
from acclimate.data.words import find_words, split_words

Keys = NDArray[np.uint64]
Numbers = NDArray[np.int64]

PADDING = bytes(8)  # what must follow a text of which chunks get keys: eight bytes are read at a time
NOT_FOUND = -1

_TOGETHER = 64  # bytes; longer chunks get their keys one by one: a further turn would be for very few
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
    alone = longer[lengths[longer] > _TOGETHER]
    longer = longer[lengths[longer] <= _TOGETHER]
    done = 8
    while longer.size:
        left = lengths[longer] - done
        more = eight_bytes[starts[longer] + done] & _FIRST_BYTES.take(left, mode="clip")
        keys[longer] = mixed(keys[longer], more)
        done += 8
        longer = longer[left > 8]
    for place in alone.tolist():
        digest = blake2b(text[starts[place] : ends[place]], digest_size=8).digest()
        keys[place] = int.from_bytes(digest, "little")
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


def different(keys: Keys) -> tuple[Numbers, Numbers]:
    """Places at which each different key stands once, and for each key which of these it is."""
    equal = representatives_of(keys)
    places = np.flatnonzero(equal == np.arange(len(keys)))
    which: Numbers = np.empty(len(keys), np.int64)
    which[places] = np.arange(len(places))
    return places, which[equal]


def _slots(keys: Keys, size: int, turn: int = 0) -> Numbers:
    """Where keys belong in a table; the same key elsewhere in another turn."""
    slots = keys * _SPREADS[turn % len(_SPREADS)]
    slots >>= _HALF
    slots *= np.uint64(size)
    slots >>= _HALF
    places: Numbers = slots.view(np.int64)
    return places


class KeyTable:
    """A value (0 or more) for each key, for `room` keys at first: a hash table with linear probing."""

    def __init__(self, room: int = 512) -> None:
        self._size = 0
        self._make_room(room)

    def _make_room(self, keys: int) -> None:
        # a key and its value side by side are fetched together; an emptier table needs fewer probes
        self._rows: Keys = np.zeros((3 * keys + 8, 2), np.uint64)
        self._keys, self._values = self._rows[:, 0], self._rows[:, 1].view(np.int64)
        self._values[:] = NOT_FOUND

    def __len__(self) -> int:
        return self._size

    def items(self) -> tuple[Keys, Numbers]:
        """Keys and values, in no order."""
        taken = np.flatnonzero(self._values != NOT_FOUND)
        return self._keys[taken], self._values[taken]

    def find(self, keys: Keys) -> Numbers:
        """The values of keys, NOT_FOUND for those without one."""
        slots = _slots(keys, len(self._rows))
        rows = self._rows.take(slots, axis=0)
        values = rows[:, 1].view(np.int64).copy()
        left = np.flatnonzero((rows[:, 0] != keys) & (values != NOT_FOUND))
        slots = slots[left]
        while left.size:
            slots = (slots + 1) % len(self._rows)
            rows = self._rows.take(slots, axis=0)
            values[left] = rows[:, 1].view(np.int64)
            goes_on = (rows[:, 0] != keys[left]) & (values[left] != NOT_FOUND)
            left, slots = left[goes_on], slots[goes_on]
        return values

    def add(self, keys: Keys, values: Numbers) -> None:
        """Put in keys that are all different and all new."""
        self._size += len(keys)
        if 5 * self._size > 2 * len(self._rows):
            known = self.items()
            self._make_room(2 * self._size)
            keys, values = np.concatenate((known[0], keys)), np.concatenate((known[1], values))
        slots = _slots(keys, len(self._rows))
        while keys.size:
            free = np.flatnonzero(self._values[slots] == NOT_FOUND)
            self._keys[slots[free]] = keys[free]
            placed = free[self._keys[slots[free]] == keys[free]]  # of several that want a slot, one
            self._values[slots[placed]] = values[placed]
            left = np.ones(len(keys), np.bool_)
            left[placed] = False
            keys, values, slots = keys[left], values[left], (slots[left] + 1) % len(self._rows)


# what is remembered of a chunk shares the bits of one number, so that it is fetched at once
_COUNT_BITS = LONGEST_LINE.bit_length()  # no chunk has more words, as each has a byte at least
_KNOWN_BITS = 12
_MOST, _MANY = (1 << _COUNT_BITS) - 1, (1 << _KNOWN_BITS) - 1  # _MANY stands for any higher number too


def remembered(where: Numbers, counts: Numbers, known: Numbers) -> Numbers:
    """What to remember of chunks: where their words are in a list, how many they are, and how many are known."""
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
    """Whole lines of text and the chunks between blanks. Places count from the line end put before the text."""

    text: bytes
    starts: Numbers  # (chunk)
    ends: Numbers  # (chunk)
    reaches: Numbers  # (chunk): how far one must look to split it
    keys: Keys  # (chunk)
    entries: Numbers  # (chunk): what is remembered of it, or NOT_FOUND
    borders: Numbers  # (line + 1): the first chunk of each line, and the number of chunks

    def __len__(self) -> int:
        return len(self.borders) - 1

    @cached_property
    def most_known(self) -> Numbers:
        """(line): it has no more known words than this."""
        return np.diff(sums(self._most_known)[self.borders])

    @cached_property
    def _most_known(self) -> Numbers:
        """(chunk). All words of a new one may be known: at most one for each sign and each run of letters."""
        known = self.entries & _MANY
        unsure = np.flatnonzero(known == _MANY)  # new ones among them, as all bits of NOT_FOUND are set
        starts, lengths = self.starts[unsure], self.ends[unsure] - self.starts[unsure]
        letters, places = np.frombuffer(self.text, np.uint8), ranges(starts, lengths)
        begins_word = ~(_IS_PLAIN[letters[places]] & _IS_PLAIN[letters[places - 1]])
        known[unsure] = np.diff(sums(begins_word)[sums(lengths)])
        return known

    def most_different_known(self, chosen: Numbers) -> Numbers:
        """(chosen line): it has no more different known words than this, as what it says twice counts once."""
        chunks, counts = self.chunks(chosen)
        line_keys = np.repeat(chosen.astype(np.uint64), counts)
        first = representatives_of(mixed(self.keys[chunks], line_keys)) == np.arange(len(chunks))
        return np.diff(sums(self._most_known[chunks] * first)[sums(counts)])

    def chunks(self, chosen: Numbers) -> tuple[Numbers, Numbers]:
        """The chunks of some lines, and how many each line has."""
        firsts, counts = self.borders[chosen], self.borders[chosen + 1] - self.borders[chosen]
        return ranges(firsts, counts), counts

    def texts(self, chunks: Numbers) -> list[str]:
        places = zip(self.starts[chunks].tolist(), self.ends[chunks].tolist(), strict=True)
        return b"\n".join([self.text[start:end] for start, end in places]).decode().split("\n")[: len(chunks)]

    def lines(self, chosen: Numbers) -> list[bytes]:
        """The text of lines that have some, without the blanks around it."""
        first, last = self.starts[self.borders[chosen]], self.ends[self.borders[chosen + 1] - 1]
        return [self.text[start:end] for start, end in zip(first.tolist(), last.tolist(), strict=True)]


def cut_at_blanks(text: bytes, tokenize: Tokenize) -> tuple[Numbers, Numbers]:
    """Where chunks start and end, in a text that begins with a line end and ends with one and PADDING."""
    marks = np.frombuffer(text.translate(_NOT_BLANK[tokenize]), np.uint8, len(text) - len(PADDING))
    changes = np.flatnonzero(marks[1:] != marks[:-1]) + 1
    return changes[0::2].copy(), changes[1::2].copy()  # a copy is read faster than every other number


def keys_with_next(text: bytes, starts: Numbers, ends: Numbers, keys: Keys) -> tuple[Keys, Numbers]:
    """The keys of chunks, and how far one must look to split them: `J. Smith` and `No. 5` need the next chunk."""
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


Split = Callable[[Block, Numbers], tuple[Numbers, Keys]]


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
        self._words = KeyTable(2 * len(self._known))
        self._words.add(self._known, np.arange(len(self._known)))
        self._chunks = KeyTable()
        self._lists = array("i")  # the words of one chunk after those of another

    def keys(self) -> Keys:
        """The keys of all words, by their numbers."""
        keys, numbers = self._words.items()
        return keys[np.argsort(numbers)]

    def read(self, text: bytes) -> Block:
        """Look up the chunks of whole lines, of which none is longer than LONGEST_LINE."""
        if self.most is not None and (len(self._chunks) >= self.most or len(self._lists) >= 4 * self.most):
            self._forget()
        text = b"".join((b"\n", text, b"" if text.endswith(b"\n") else b"\n", PADDING))
        starts, ends = cut_at_blanks(text, self.tokenize)
        keys, reaches = chunk_keys(text, starts, ends), ends
        if self.tokenize == "words":
            keys, reaches = keys_with_next(text, starts, ends, keys)
        line_ends = np.flatnonzero(np.frombuffer(text, np.uint8, len(text) - len(PADDING)) == ord("\n"))
        borders = np.searchsorted(starts, line_ends)
        return Block(text, starts, ends, reaches, keys, self._chunks.find(keys), borders)

    def number(self, block: Block, chosen: Numbers) -> NumberedLines:
        """The words of some lines of the block read last. Raises UnicodeDecodeError where new ones are no UTF-8."""
        chunks, counts = block.chunks(chosen)
        entries = block.entries[chunks]
        new = np.flatnonzero(entries == NOT_FOUND)
        entries[new] = self._learnt(block, chunks[new])
        where, sizes = recalled(entries)
        words = np.frombuffer(self._lists, np.int32)[ranges(where, sizes)].astype(np.int64)
        return NumberedLines(words, np.diff(sums(sizes)[sums(counts)]))

    def of(self, words: Sequence[str]) -> Numbers:
        """The numbers of words that are not to be split."""
        return self._numbers(self._keys(words))

    def _numbers(self, keys: Keys) -> Numbers:
        numbers = self._words.find(keys)
        unknown = np.flatnonzero(numbers == NOT_FOUND)
        firsts, which = different(keys[unknown])
        numbers[unknown] = which + len(self._words)
        self._words.add(keys[unknown[firsts]], len(self._words) + np.arange(len(firsts)))
        return numbers

    def _keys(self, words: Sequence[str]) -> Keys:
        joined = "\n".join((*words, ""))
        text = (joined.lower() if self.lower_case else joined).encode() + PADDING
        ends = np.flatnonzero(np.frombuffer(text, np.uint8, len(text) - len(PADDING)) == ord("\n"))
        return chunk_keys(text, np.concatenate(([0], ends[:-1] + 1))[: len(ends)], ends)

    def _learnt(self, block: Block, chunks: Numbers) -> Numbers:
        """Split new chunks, and remember of each where its words are, how many they are and how many are known."""
        firsts, which = different(block.keys[chunks])
        chunks = chunks[firsts]
        entries = np.empty(len(chunks), np.int64)
        looks_on = block.reaches[chunks] > block.ends[chunks]
        split_most = self._not_split if self.tokenize == "blanks" else self._split_together
        ways: list[tuple[NDArray[np.bool_], Split]] = [(~looks_on, split_most), (looks_on, self._split_looking_on)]
        for group, split in ways:
            counts, keys = split(block, chunks[group])
            numbers = self._numbers(keys)
            borders = sums(counts)
            known = np.diff(sums(numbers < len(self._known))[borders])
            entries[group] = remembered(len(self._lists) + borders[:-1], counts, known)
            self._lists.frombytes(numbers.astype(np.int32).tobytes())
        self._chunks.add(block.keys[chunks], entries)
        return entries[which]

    def _not_split(self, block: Block, chunks: Numbers) -> tuple[Numbers, Keys]:
        """How many words each chunk has, and the keys of all words."""
        return np.ones(len(chunks), np.int64), self._keys(block.texts(chunks))

    def _split_together(self, block: Block, chunks: Numbers) -> tuple[Numbers, Keys]:
        """Split all chunks in one search, which is faster. The words' lengths tell whose they are."""
        texts = block.texts(chunks)
        words = split_words("\n\n".join(texts))
        word_ends = np.cumsum(list(map(len, words)))
        lengths = list(map(len, texts))
        if sum(lengths) != word_ends[-1:].sum():  # there are blanks that are not ASCII in them
            lengths = [len("".join(text.split())) for text in texts]
        counts = np.diff(np.searchsorted(word_ends, np.cumsum(lengths), "right"), prepend=0)
        return counts, self._keys(words)

    def _split_looking_on(self, block: Block, chunks: Numbers) -> tuple[Numbers, Keys]:
        """For the few of which what comes next is to be looked at."""
        counts, words = [], []
        for chunk in chunks.tolist():
            start, end, reach = int(block.starts[chunk]), int(block.ends[chunk]), int(block.reaches[chunk])
            text, own = block.text[start:reach].decode(), len(block.text[start:end].decode())
            own_words = [text[first:last] for first, last in find_words(text) if first < own]
            counts.append(len(own_words))
            words += own_words
        return np.array(counts, np.int64), self._keys(words)
