"""PMI: hide collocations whole (Levine et al. 2021, as in MSLM, Abaho et al. 2024, Algorithm 2).

A word of a collocation is easily guessed from the others ("New [MASK] City"), and little is learnt by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from acclimate.data.collocations import Collocations, Found
from acclimate.methods.masking.budget import fill_up, require_budget


def draw_collocations(
    words: Sequence[str],
    collocations: Collocations,
    budget: int,
    dice: np.random.Generator,
    ranked: bool = False,
) -> list[int]:
    """Exactly `budget` of the words, by number, in the order in which they were chosen.

    The default is Levine's way: the sentence is cut into its collocations and the single words between them, and these
    units are drawn at random, all with the same chance. Each epoch then hides other words. Of two collocations that
    overlap the longer is the unit, and of two equally long the better ranked; Levine draws one of them, unless it lies
    within the other.

    `ranked=True` is the order of MSLM's Algorithm 2: the best ranked collocation of the sentence first, down to the
    last, and then single random words. It hides the same words of a sentence every time, as far as its collocations
    reach, and the other words are hardly ever asked for. Prefer it only to repeat that paper.

    Either way no collocation shares a word with another, and one is cut only if the budget ends inside it.
    """
    require_budget(budget, len(words))
    found = collocations.find(words)
    if ranked:
        best_first = _apart(sorted(found, key=lambda one: (one.rank, one.start)))
        return fill_up(_first_words(best_first, budget), len(words), budget, dice)
    units = _units(_apart(found), len(words))
    order = dice.permutation(len(units)).tolist()
    return _first_words((units[number] for number in order), budget)


def _apart(found: Iterable[Found]) -> list[range]:
    """The collocations that share no word with an earlier one."""
    taken: set[int] = set()
    kept = []
    for start, end, _ in found:
        run = range(start, end)
        if taken.isdisjoint(run):
            taken.update(run)
            kept.append(run)
    return kept


def _units(runs: Sequence[range], count: int) -> list[range]:
    """The runs and, each by itself, the words that no run holds."""
    inside = set(chain.from_iterable(runs))
    return [*runs, *(range(word, word + 1) for word in range(count) if word not in inside)]


def _first_words(runs: Iterable[range], budget: int) -> list[int]:
    return list(chain.from_iterable(runs))[:budget]
