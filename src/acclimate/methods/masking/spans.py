"""SPAN: hide random runs of neighbouring words (Joshi et al. 2020, as in MSLM, Abaho et al. 2024, Algorithm 1).

The algorithm is repaired where its print is wrong: a run stops at the end of the sentence, where the printed one would
make the sentence longer (E2.1), and a budget that its runs leave over is spent on single words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from acclimate.methods.masking.budget import fill_up, require_budget

LENGTHS = (2, 3, 4)


def draw_spans(count: int, budget: int, dice: np.random.Generator, lengths: Sequence[int] = LENGTHS) -> list[int]:
    """Exactly `budget` of `count` words, by number, in the order in which they were chosen.

    Every word is tried once as the start of a run, in random order; each run draws one of the `lengths`. What is still
    missing when all starts are used up is filled with single random words: every masker spends its budget exactly, or
    a comparison of maskers would compare amounts.
    """
    require_budget(budget, count)
    if not lengths or min(lengths) < 1:
        raise ValueError(f"The lengths of runs must be whole numbers from 1 on, not {tuple(lengths)}.")
    starts = dice.permutation(count).tolist()
    drawn = dice.choice(lengths, count).tolist()
    return fill_up(lay_spans(count, budget, zip(starts, drawn, strict=True)), count, budget, dice)


def lay_spans(count: int, budget: int, spans: Iterable[tuple[int, int]]) -> list[int]:
    """The words of runs given as (start, length), laid one after the other while the budget lasts.

    A run is cut to the budget that is left and at the end of the sentence, and skipped if a word of what remains is
    chosen already. Two runs may stand side by side.
    """
    chosen: dict[int, None] = {}  # a set that keeps its order
    for start, length in spans:
        left = budget - len(chosen)
        if not left:
            break
        run = range(start, min(start + min(length, left), count))
        if chosen.keys().isdisjoint(run):
            chosen.update(dict.fromkeys(run))
    return list(chosen)
