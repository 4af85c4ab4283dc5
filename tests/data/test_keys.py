"""Keys of chunks and pairs, and the table they are found in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.selection.word_numbers import (
    NOT_FOUND,
    PADDING,
    KeyTable,
    chunk_keys,
    pair_keys,
    representatives_of,
)

KEYS = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=300)


def keys_of(*chunks: bytes) -> list[int]:
    """The keys of chunks that stand one after the other."""
    ends = np.cumsum([len(chunk) for chunk in chunks])
    starts = ends - [len(chunk) for chunk in chunks]
    return chunk_keys(b"".join(chunks) + PADDING, starts, ends).tolist()


@given(st.lists(st.binary(min_size=1, max_size=90), min_size=1, max_size=60))
def test_chunks_have_the_same_key_if_and_only_if_they_are_equal(chunks: list[bytes]) -> None:
    again = [chunk.replace(b"\0", b"x") for chunk in (*chunks, *reversed(chunks))]
    keys = keys_of(*again)
    assert len(set(zip(again, keys, strict=True))) == len(set(again)) == len(set(keys))


@pytest.mark.parametrize("size", [1, 7, 8])
def test_a_short_chunk_is_its_own_key(size: int) -> None:
    assert keys_of(b"abcdefgh"[:size]) == [int.from_bytes(b"abcdefgh"[:size], "little")]


@pytest.mark.parametrize("size", [9, 16, 17, 64, 65, 1000])
def test_every_byte_of_a_long_chunk_counts(size: int) -> None:
    chunks = [b"a" * place + b"b" + b"a" * (size - place - 1) for place in range(size)]
    assert len(set(keys_of(*chunks, b"a" * (size + 1)))) == size + 1


def test_different_pairs_have_different_keys() -> None:
    left, right = np.array([0, 0, 1, 2**32 - 1]), np.array([0, 1, 0, 2**31])
    assert pair_keys(left, right).tolist() == [0, 1, 2**32, (2**32 - 1) * 2**32 + 2**31]


@given(KEYS)
def test_equal_keys_have_one_stand_in_among_them(numbers: list[int]) -> None:
    keys = np.array(numbers, np.uint64)
    found = representatives_of(keys)
    assert keys[found].tolist() == numbers
    assert len(set(found.tolist())) == len(set(numbers))


@given(st.lists(KEYS, max_size=5), KEYS)
def test_a_table_answers_as_a_dictionary_does(added: list[list[int]], asked: list[int]) -> None:
    table, reference = KeyTable(), dict[int, int]()
    for keys in added:
        before = len(reference)
        numbers, new = table.number(np.array(keys, np.uint64))
        assert sorted(numbers[new].tolist()) == list(range(before, before + len(new)))
        assert {keys[place] for place in new} == set(keys) - reference.keys()
        reference |= {keys[place]: int(numbers[place]) for place in new}
        assert numbers.tolist() == [reference[key] for key in keys]
    everything = [*asked, *reference]
    found = table.find(np.array(everything, np.uint64)).tolist()
    assert found == [reference.get(key, NOT_FOUND) for key in everything]
    assert {key: number for number, key in enumerate(table.keys().tolist())} == reference
    assert len(table) == len(reference)


def test_a_table_bears_many_keys_in_a_row() -> None:
    keys = np.arange(200_000, dtype=np.uint64)
    table = KeyTable(keys)
    assert (table.find(keys) == np.arange(len(keys))).all()
    assert (table.find(keys + np.uint64(len(keys))) == NOT_FOUND).all()
