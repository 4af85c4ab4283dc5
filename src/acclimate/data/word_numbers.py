"""Blocks of raw text → numbers of their words: what `words.find_words` finds, many times faster.

Text repeats itself. What stands between two blanks ("bank,") is split into words once, when it comes first, and looked
up from then on, for all of a block together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acclimate.data.keys import NOT_FOUND, PADDING, Keys, KeyTable, Numbers, different, stretch_keys
from acclimate.data.readers.ledger import Tokenize
from acclimate.data.stretches import Block, cut_at_blanks, keys_with_next, ranges, recalled, remembered, sums
from acclimate.data.words import find_words, split_words

Split = Callable[[Block, Numbers], tuple[Numbers, Keys]]


@dataclass(frozen=True)
class NumberedLines:
    words: Numbers  # (word)
    lengths: Numbers  # (line): in words

    def __len__(self) -> int:
        return len(self.lengths)


class WordNumbers:
    """Words by number, and a memory of how stretches between blanks are split into them.

    `known` are keys of words that have the numbers from 0 on for ever. All others are forgotten when `most` stretches
    are remembered, so that the memory is bounded: their numbers hold within a block only.
    """

    def __init__(self, known: Keys | None = None, *, lower_case: bool, tokenize: Tokenize, most: int | None) -> None:
        self.lower_case, self.tokenize, self.most = lower_case, tokenize, most
        self._known: Keys = np.zeros(0, np.uint64) if known is None else known
        self._forget()

    def _forget(self) -> None:
        self._words = KeyTable(2 * len(self._known))
        self._words.add(self._known, np.arange(len(self._known)))
        self._stretches = KeyTable()
        self._lists = _Growing()  # the words of one stretch after those of another

    def keys(self) -> Keys:
        """The keys of all words, by their numbers."""
        keys, numbers = self._words.items()
        return keys[np.argsort(numbers)]

    def read(self, text: bytes) -> Block:
        """Look up the stretches of whole lines, of which none is longer than LONGEST_LINE."""
        if self.most is not None and (len(self._stretches) >= self.most or len(self._lists) >= 4 * self.most):
            self._forget()
        text = b"".join((b"\n", text, b"" if text.endswith(b"\n") else b"\n", PADDING))
        starts, ends = cut_at_blanks(text, self.tokenize)
        keys, reaches = stretch_keys(text, starts, ends), ends
        if self.tokenize == "words":
            keys, reaches = keys_with_next(text, starts, ends, keys)
        line_ends = np.flatnonzero(np.frombuffer(text, np.uint8, len(text) - len(PADDING)) == ord("\n"))
        borders = np.searchsorted(starts, line_ends)
        return Block(text, starts, ends, reaches, keys, self._stretches.find(keys), borders)

    def number(self, block: Block, chosen: Numbers) -> NumberedLines:
        """The words of some lines of the block read last. Raises UnicodeDecodeError where new ones are no UTF-8."""
        stretches, counts = block.stretches(chosen)
        entries = block.entries[stretches]
        new = np.flatnonzero(entries == NOT_FOUND)
        entries[new] = self._learnt(block, stretches[new])
        where, sizes = recalled(entries)
        words = self._lists.all[ranges(where, sizes)].astype(np.int64)
        return NumberedLines(words, np.diff(sums(sizes)[sums(counts)]))

    def of(self, words: Sequence[str]) -> Numbers:
        """The numbers of words that are not to be split; new ones get one."""
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
        return stretch_keys(text, np.concatenate(([0], ends[:-1] + 1))[: len(ends)], ends)

    def _learnt(self, block: Block, stretches: Numbers) -> Numbers:
        """Split new stretches, and remember of each where its words are, how many they are and how many are known."""
        firsts, which = different(block.keys[stretches])
        stretches = stretches[firsts]
        entries = np.empty(len(stretches), np.int64)
        for group, split in self._ways_to_split(block, stretches):
            counts, keys = split(block, stretches[group])
            numbers = self._numbers(keys)
            borders = sums(counts)
            known = np.diff(sums(numbers < len(self._known))[borders])
            entries[group] = remembered(len(self._lists) + borders[:-1], counts, known)
            self._lists.extend(numbers)
        self._stretches.add(block.keys[stretches], entries)
        return entries[which]

    def _ways_to_split(self, block: Block, stretches: Numbers) -> list[tuple[NDArray[np.bool_], Split]]:
        looks_on = block.reaches[stretches] > block.ends[stretches]
        split = self._not_split if self.tokenize == "blanks" else self._split_together
        return [(~looks_on, split), (looks_on, self._split_looking_on)]

    def _not_split(self, block: Block, stretches: Numbers) -> tuple[Numbers, Keys]:
        """How many words each stretch has, and the keys of all words."""
        return np.ones(len(stretches), np.int64), self._keys(block.texts(stretches))

    def _split_together(self, block: Block, stretches: Numbers) -> tuple[Numbers, Keys]:
        """One search through all of them is faster than many. Whose the words are follows from their lengths, as they
        leave out nothing but blanks."""
        texts = block.texts(stretches)
        words = split_words("\n\n".join(texts))
        word_ends = np.cumsum(list(map(len, words)))
        lengths = list(map(len, texts))
        if sum(lengths) != word_ends[-1:].sum():  # there are blanks that are not ASCII in them
            lengths = [len("".join(text.split())) for text in texts]
        counts = np.diff(np.searchsorted(word_ends, np.cumsum(lengths), "right"), prepend=0)
        return counts, self._keys(words)

    def _split_looking_on(self, block: Block, stretches: Numbers) -> tuple[Numbers, Keys]:
        """For the few of which what comes next is to be looked at."""
        counts, words = [], []
        for stretch in stretches.tolist():
            start, end, reach = int(block.starts[stretch]), int(block.ends[stretch]), int(block.reaches[stretch])
            text, own = block.text[start:reach].decode(), len(block.text[start:end].decode())
            found = [text[first:last] for first, last in find_words(text) if first < own]
            counts.append(len(found))
            words += found
        return np.array(counts, np.int64), self._keys(words)


class _Growing:
    """Whole numbers in a row that becomes longer."""

    def __init__(self) -> None:
        self._room: NDArray[np.int32] = np.zeros(1024, np.int32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def all(self) -> NDArray[np.int32]:
        return self._room[: self._size]

    def extend(self, more: Numbers) -> None:
        size = self._size + len(more)
        if size > len(self._room):
            room = np.zeros(2 * size, np.int32)
            room[: self._size] = self.all
            self._room = room
        self._room[self._size : size] = more
        self._size = size
