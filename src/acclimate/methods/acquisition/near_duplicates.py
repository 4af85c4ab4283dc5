"""Near-duplicates: sentences that differ in little, such as a forwarded post, are shown once.

Two are nearly the same when they share most of their shingles: pairs of neighbouring words in lower case, with numbers,
web addresses and mentions made alike. MinHash (Broder 1997) finds them in linear time: of several random orders of all
shingles the first that a sentence has is kept, and sentences with equal bands of these are compared.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

ALIKE = 0.8  # the share of common shingles (Jaccard) from which two sentences are nearly the same
BANDS, ROWS = 16, 4  # a pair at 0.8 shares a band with probability 0.9998, one at 0.3 with 0.12, and is then compared
_VARIABLE = (
    (re.compile(r"https?://\S+|www\.\S+"), "<address>"),
    (re.compile(r"@\w+"), "<mention>"),
    (re.compile(r"\d+"), "0"),
)


def first_alike(sentences: Sequence[Sequence[str]], alike: float = ALIKE) -> list[int]:
    """For each sentence the number of the first one that it is nearly the same as: its own where there is none before.

    A sentence is compared with first ones alone, so that a long chain of small changes ends somewhere."""
    shingled = [shingles(words) for words in sentences]
    firsts: list[int] = []
    buckets: dict[tuple[int, bytes], list[int]] = {}
    for number, (own, bands) in enumerate(zip(shingled, _bands(shingled), strict=True)):
        keys = list(enumerate(bands))
        likely = sorted({other for key in keys for other in buckets.get(key, ())})
        first = next((other for other in likely if jaccard(own, shingled[other]) >= alike), number)
        firsts.append(first)
        if first == number:
            for key in keys:
                buckets.setdefault(key, []).append(number)
    return firsts


def shingles(words: Sequence[str]) -> frozenset[int]:
    """The hashed pairs of neighbouring words; a word alone where there is no pair."""
    plain = [_plain(word) for word in words]
    kept = [word for word in plain if any(map(str.isalnum, word)) or word.startswith("<")] or plain
    pairs = [" ".join(pair) for pair in pairwise(kept)] or kept
    return frozenset(zlib.crc32(pair.encode("utf-8", "surrogatepass")) for pair in pairs)


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """The share of common shingles among all of both."""
    return len(one & other) / len(one | other)


def _plain(word: str) -> str:
    word = word.lower()
    for pattern, alike in _VARIABLE:
        word = pattern.sub(alike, word)
    return word


def _bands(shingled: Sequence[frozenset[int]]) -> list[list[bytes]]:
    """The bands of each sentence's signature."""
    dice = np.random.default_rng(0)  # the orders are always the same
    factors = dice.integers(0, 1 << 64, BANDS * ROWS, dtype=np.uint64) | np.uint64(1)
    shifts = dice.integers(0, 1 << 64, BANDS * ROWS, dtype=np.uint64)
    return [_bands_of(own, factors, shifts) for own in shingled]


def _bands_of(own: frozenset[int], factors: NDArray[np.uint64], shifts: NDArray[np.uint64]) -> list[bytes]:
    codes = np.fromiter(own, np.uint64, len(own))
    least = (codes[:, None] * factors + shifts).min(0)  # (order); products wrap around, which mixes them
    return [band.tobytes() for band in least.reshape(BANDS, ROWS)]
