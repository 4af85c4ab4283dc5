"""Random choices from `Random.random` alone, whose sequence Python promises to keep on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random


def shuffled(count: int, dice: Random) -> Iterator[int]:
    """The numbers below `count` in random order. Each is drawn when it is asked for: there may be billions."""
    moved: dict[int, int] = {}
    for place in range(count):
        other = place + number_below(count - place, dice)
        yield moved.get(other, other)
        moved[other] = moved.get(place, place)


def number_below(limit: int, dice: Random) -> int:
    """A random number from 0 on, for a limit of any size."""
    if limit < 1 << 33:  # the first turn of what follows
        return int(dice.random() * (1 << 53)) * limit >> 53
    drawn = bits = 0
    while bits < limit.bit_length() + 20:  # so many more that no number is favoured
        drawn = drawn << 53 | int(dice.random() * (1 << 53))
        bits += 53
    return drawn * limit >> bits
