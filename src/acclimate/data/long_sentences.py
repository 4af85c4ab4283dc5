"""A line of any length, read in overlapping parts: the memory that tagging needs does not grow with the line.

Neighbouring parts share some words. Each part decides on the words up to the middle of what it shares, so that every
word is read with its context on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from acclimate.data.pieces import Window, windows


def overlapping(costs: Sequence[int], most: int, shared: int) -> list[Window]:
    """Cover words of these costs (1 each, or characters) with parts that cost at most `most`; neighbours share about
    `shared` of it. A word that costs more than that is a part of its own."""
    total = np.concatenate(([0], np.cumsum(costs)))  # up to each word
    found: list[tuple[int, int]] = []
    start = end = 0
    while end < len(costs):
        reached = int(np.searchsorted(total, total[start] + most, side="right")) - 1
        if reached <= end:  # the next word is large: it leaves less room for what is shared
            reached = end + 1
            start = min(max(start, int(np.searchsorted(total, total[reached] - most))), end)
        end = reached
        found.append((start, end))
        start = max(int(np.searchsorted(total, total[end] - shared)), start + 1)
    return _keeping(found, [(right[0], left[1]) for left, right in pairwise(found)])


def overlapping_rows(counts: Sequence[int], room: int, most: int, shared: int) -> list[Window]:
    """The same for an encoder that reads words of `counts` pieces in rows of `room` pieces (`windows`).

    Parts begin and end where rows do, and share at least `shared` pieces that stand in the same rows in both. So each
    word has the very features that it has when all rows are read at once.
    """
    rows = windows(counts, room)
    total = np.concatenate(([0], np.cumsum(counts)))
    found: list[tuple[int, int]] = []
    first = 0
    while True:
        last = min(first + 2, len(rows) - 1)
        while last + 1 < len(rows) and total[rows[last + 1].end] - total[rows[first].start] <= most:
            last += 1
        found.append((first, last))
        if last == len(rows) - 1:
            break
        following = last
        while following > first + 1 and total[rows[last].keep_to] - total[rows[following].keep_from] < shared:
            following -= 1
        first = following
    alike = [(rows[right[0]].keep_from, rows[left[1]].keep_to) for left, right in pairwise(found)]
    return _keeping([(rows[first].start, rows[last].end) for first, last in found], alike)


def _keeping(parts: Sequence[tuple[int, int]], alike: Sequence[tuple[int, int]]) -> list[Window]:
    """Neighbours meet in the middle of the words that both read alike."""
    borders = [0, *((start + end + 1) // 2 for start, end in alike), parts[-1][1] if parts else 0]
    return [Window(*edges, borders[i], borders[i + 1]) for i, edges in enumerate(parts)]
