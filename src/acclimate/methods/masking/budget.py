"""How many words are hidden, and how that number is spent to the last one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def words_to_hide(share: float, count: int) -> int:
    """A share of `count` words, rounded up, so that the shortest sentence has one hidden too (MSLM, Algorithm 1)."""
    if not 0 <= share <= 1:
        raise ValueError(f"The share of hidden words must lie between 0 and 1, not {share}.")
    return math.ceil(round(share * count, 9))  # 0.07 of 100 words is 7, though not in binary fractions


def require_budget(budget: int, count: int) -> None:
    """Refuse to hide more words than there are."""
    if not 0 <= budget <= count:
        raise ValueError(f"Of {count} words, {budget} cannot be hidden; the budget must lie between 0 and {count}.")


def fill_up(chosen: Sequence[int], count: int, budget: int, dice: np.random.Generator) -> list[int]:
    """The words chosen, and then single random ones of those still free until the budget is spent."""
    missing = budget - len(chosen)
    if missing <= 0:  # no dice are thrown for nothing
        return list(chosen)
    taken = set(chosen)
    free = [word for word in range(count) if word not in taken]
    places = dice.permutation(len(free))[:missing]
    return [*chosen, *(free[place] for place in places.tolist())]
