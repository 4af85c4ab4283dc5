"""The best lines so far, each text once, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from acclimate.data.keys import Numbers
from acclimate.data.line_ngrams import Scores


class RankedLines(NamedTuple):
    """Lines and where they stand: a piece of the input and a line of that piece, both counted from 0."""

    scores: Scores
    pieces: Numbers
    numbers: Numbers
    texts: list[bytes]

    def only(self, places: list[int]) -> RankedLines:
        texts = [self.texts[place] for place in places]
        return RankedLines(self.scores[places], self.pieces[places], self.numbers[places], texts)


class BestLines:
    """The `top` best lines of those offered. Of equal lines the first one counts, of equal scores the earlier place.

    Lines are collected until there are a quarter more than are wanted, and the worse ones are dropped together: this
    is faster than a heap, and duplicates need no table of all lines. One that was dropped cannot come back with a
    duplicate, whose place is later.
    """

    def __init__(self, top: int, floor: float = 0.0, *, in_order: bool) -> None:
        self.top = top
        self.floor = floor  # a lower score is not wanted
        self.lowest = 0.0  # of the wanted number of lines, if there are so many
        self._in_order = in_order  # lines are offered in the order of their places: later ones must be better
        self._parts: list[RankedLines] = []
        self._waiting = 0

    def offer(self, lines: RankedLines) -> None:
        self._parts.append(lines)
        self._waiting += len(lines.texts)
        if self._waiting > self.top + max(self.top // 4, 1000):
            self.ranked()

    def collected(self) -> RankedLines:
        """All that are still in the running, in no order: somebody else will rank them together with others."""
        return self.ranked() if self._waiting > self.top else _together(self._parts)

    def ranked(self) -> RankedLines:
        """The best lines, the best first."""
        lines = _together(self._parts)
        lines = lines.only(np.lexsort((lines.numbers, lines.pieces, -lines.scores)).tolist())
        first: dict[bytes, int] = dict(zip(reversed(lines.texts), range(len(lines.texts) - 1, -1, -1), strict=True))
        kept = sorted(first.values())[: self.top]
        lines = lines.only(kept)
        self._parts, self._waiting = [lines], len(kept)
        if len(kept) == self.top:
            self.lowest = float(lines.scores[-1])
            self.floor = max(self.floor, float(np.nextafter(self.lowest, 2)) if self._in_order else self.lowest)
        return lines


def _together(parts: Sequence[RankedLines]) -> RankedLines:
    parts = [_NOTHING, *parts]
    scores = np.concatenate([part.scores for part in parts])
    pieces = np.concatenate([part.pieces for part in parts])
    numbers = np.concatenate([part.numbers for part in parts])
    return RankedLines(scores, pieces, numbers, [text for part in parts for text in part.texts])


_NOTHING = RankedLines(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), [])
