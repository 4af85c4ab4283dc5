"""Rows of words on disk, read again and again in another order, in memory that does not grow with the text."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from acclimate.data.batches import TARGET, Batch, Stream
from acclimate.data.corpus import Sentence

WINDOW = 4096  # rows that are in memory, and shuffled among themselves


class StoredRows:
    """Rows of words in a file without a name, which is gone when nobody needs it. A row is read with its window."""

    def __init__(self, rows: Iterable[Sequence[str]], window: int = WINDOW) -> None:
        self.window_size, self._length = window, 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._starts: list[int] = []  # of each window in the file
        for row in rows:
            if self._length % window == 0:
                self._starts.append(self._file.tell())
            line = "\t".join(word.translate(_NO_BREAKS) for word in row) + "\n"
            self._file.write(line.encode("utf-8", "surrogatepass"))
            self._length += 1
        self._starts.append(self._file.tell())

    def __len__(self) -> int:
        return self._length

    @property
    def windows(self) -> int:
        return len(self._starts) - 1

    def window(self, number: int) -> list[bytes]:
        """The rows of a window as they lie on disk."""
        self._file.seek(self._starts[number])
        return self._file.read(self._starts[number + 1] - self._starts[number]).split(b"\n")[:-1]


_NO_BREAKS = {ord("\t"): " ", ord("\n"): " "}  # a word with one of these would be two


def _sentence(line: bytes) -> Sentence:
    return Sentence(tuple(line.decode("utf-8", "surrogatepass").split("\t")))


@dataclass(frozen=True)
class Shuffled:
    """Rows in an endless order: pass after pass, windows in random order, and the rows of each in random order. Which
    row comes in which place depends on the seed and the place alone."""

    rows: StoredRows
    seed: int
    _order: dict[int, NDArray[np.int64]] = field(default_factory=dict, compare=False, repr=False)
    _open: dict[tuple[int, int], list[bytes]] = field(default_factory=dict, compare=False, repr=False)

    def at(self, first: int, last: int) -> list[Sentence]:
        """The rows from one place on, up to another."""
        found: list[Sentence] = []
        while first < last:
            which, place = divmod(first, len(self.rows))
            order = self._windows(which)
            sizes = np.full(len(order), self.rows.window_size)
            sizes[order == len(order) - 1] = len(self.rows) - (len(order) - 1) * self.rows.window_size
            ends = sizes.cumsum()
            turn = int(np.searchsorted(ends, place, side="right"))
            begin = place - int(ends[turn] - sizes[turn])
            lines = self._lines(which, int(order[turn]))[begin : begin + last - first]
            found += map(_sentence, lines)
            first += len(lines)
        return found

    def _windows(self, which: int) -> NDArray[np.int64]:
        if which not in self._order:
            self._order.clear()
            self._order[which] = np.random.default_rng([self.seed, which]).permutation(self.rows.windows)
        return self._order[which]

    def _lines(self, which: int, window: int) -> list[bytes]:
        if (which, window) not in self._open:
            self._open.clear()
            lines = self.rows.window(window)
            order = np.random.default_rng([self.seed, which, window]).permutation(len(lines))
            self._open[which, window] = [lines[number] for number in order.tolist()]
        return self._open[which, window]


@dataclass(frozen=True)
class MixedRows(Stream):
    """An endless stream of batches of stored rows of several texts.

    A pass has so many rows of each text, each batch has its share of every text, and a text that is read more or less
    than once in a pass goes on from there in the next. Batch number n is a function of (seed, n).
    """

    texts: Sequence[tuple[Shuffled, int]]  # with the rows of it that a pass has
    rows_per_batch: int

    @property
    def pass_rows(self) -> int:
        return sum(rows for _, rows in self.texts)

    @property
    def epoch_length(self) -> int:
        return max(1, round(self.pass_rows / self.rows_per_batch))

    def batch(self, number: int) -> Batch:
        found: list[Sentence] = []
        for text, rows in self.texts:
            first, last = (which * self.rows_per_batch * rows // self.pass_rows for which in (number, number + 1))
            found += text.at(first, last)
        return {TARGET: found or self.texts[0][0].at(number, number + 1)}
