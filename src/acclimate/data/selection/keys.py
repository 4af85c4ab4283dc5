"""64-bit keys of byte strings and of pairs of numbers, and a hash table for them, all on NumPy arrays.

Up to eight bytes are their own key; longer strings are hashed, and two of 10^19 pairs share a key.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Numbers = NDArray[np.int64]

PADDING = bytes(8)  # what must follow a text of which chunks get keys: eight bytes are read at a time
NOT_FOUND = -1

_TURNS = 100
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
        representatives[left] = met  # where it is a stranger's, the next turn puts it right
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
    """A value (0 or more) for each key, for `room` keys at first. Each key has two slots (cuckoo hashing)."""

    def __init__(self, room: int = 512) -> None:
        self._size = 0
        self._make_room(room)

    def __len__(self) -> int:
        return self._size

    def items(self) -> tuple[Keys, Numbers]:
        """Keys and values, in no order."""
        taken = np.flatnonzero(self._values != NOT_FOUND)
        return self._keys[taken], self._values[taken]

    def find(self, keys: Keys) -> Numbers:
        """The values of keys, NOT_FOUND for those without one."""
        rows = self._rows.take(self._slots(keys, 0), axis=0)
        values = rows[:, 1].view(np.int64).copy()
        left = np.flatnonzero((rows[:, 0] != keys) & (values != NOT_FOUND))
        keys = keys[left]
        rows = self._rows.take(self._slots(keys, 1), axis=0)
        values[left] = np.where(rows[:, 0] == keys, rows[:, 1].view(np.int64), NOT_FOUND)
        return values

    def add(self, keys: Keys, values: Numbers) -> None:
        """Put in keys that are all different and all new."""
        self._size += len(keys)
        room = self._room if self._size <= self._room else 2 * self._size
        while keys.size:
            if room > self._room:
                known = self.items()
                self._make_room(room)
                keys, values = np.concatenate((known[0], keys)), np.concatenate((known[1], values))
            keys, values = self._put(keys, values)
            room += room // 8 + 1  # for the few that found no place, if any

    def _make_room(self, keys: int) -> None:
        self._room = keys
        # a key and its value side by side are fetched together; with more than half of the slots taken, many would fail
        self._rows: Keys = np.zeros((5 * keys // 2 + 8, 2), np.uint64)
        self._keys, self._values = self._rows[:, 0], self._rows[:, 1].view(np.int64)
        self._values[:] = NOT_FOUND

    def _put(self, keys: Keys, values: Numbers) -> tuple[Keys, Numbers]:
        """Put keys into their first slot, and those that stood there into their other slot. Returns those without a
        slot."""
        first_slot = np.ones(len(keys), np.bool_)
        for _ in range(_TURNS):
            if not keys.size:
                break
            slots = np.where(first_slot, self._slots(keys, 0), self._slots(keys, 1))
            before = self._rows[slots]
            self._keys[slots] = keys
            placed = self._keys[slots] == keys  # of several that wanted the slot, one
            self._values[slots[placed]] = values[placed]
            homeless = np.flatnonzero(placed & (before[:, 1].view(np.int64) != NOT_FOUND))
            turned_out, lost = before[homeless], np.flatnonzero(~placed)
            from_first = self._slots(turned_out[:, 0], 0) == slots[homeless]
            keys = np.concatenate((keys[lost], turned_out[:, 0]))
            values = np.concatenate((values[lost], turned_out[:, 1].view(np.int64)))
            first_slot = np.concatenate((~first_slot[lost], ~from_first))
        return keys, values

    def _slots(self, keys: Keys, turn: int) -> Numbers:
        return _slots(keys, len(self._rows), turn)
