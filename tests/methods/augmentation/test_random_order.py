"""Numbers in random order: each once, none favoured."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from acclimate.methods.contrastive import number_below, shuffled


@given(st.integers(0, 30), st.integers(0, 5))
def test_a_shuffle_gives_every_number_once(count: int, seed: int) -> None:
    assert sorted(shuffled(count, Random(seed))) == list(range(count))


def test_a_shuffle_favours_no_order() -> None:
    counts = Counter(tuple(shuffled(3, Random(seed))) for seed in range(6000))
    assert len(counts) == 6
    assert all(850 < count < 1150 for count in counts.values())  # 1,000 each, give or take five deviations


def test_numbers_beyond_a_float_are_even_and_odd_alike() -> None:
    dice = Random(0)
    drawn = [number_below(10**40, dice) for _ in range(400)]
    assert all(0 <= number < 10**40 for number in drawn)
    assert 150 < sum(number % 2 for number in drawn) < 250


def test_the_order_is_pinned_for_every_machine_and_version() -> None:
    assert list(shuffled(6, Random("pinned"))) == [2, 5, 4, 1, 3, 0]
