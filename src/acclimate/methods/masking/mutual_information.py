"""PMI: hide collocations whole (Levine et al. 2021, as in MSLM, Abaho et al. 2024, Algorithm 2).

A word of a collocation is easily guessed from the others ("New [MASK] City"), and little is learnt by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from acclimate.data.collocations import Collocations, Found
from acclimate.methods.masking.budget import require_budget


def draw_collocations(
    words: Sequence[str],
    collocations: Collocations,
    budget: int,
    dice: np.random.Generator,
    ranked: bool = False,
    whole: bool = False,
) -> list[int]:
    """Exactly `budget` of the words, by number, in the order in which they were chosen.

    The default is Levine's way: the sentence is cut into its collocations and the single words between them, and these
    units are drawn at random, all with the same chance. Each epoch then hides other words. Of two collocations that
    overlap the longer is the unit, and of two equally long the better ranked; Levine draws one of them, unless it lies
    within the other.

    `ranked=True` is the order of MSLM's Algorithm 2: the best ranked collocation of the sentence first, down to the
    last, and then single random words. It hides the same words of a sentence every time, as far as its collocations
    reach, and the other words are hardly ever asked for. Prefer it only to repeat that paper.

    Either way no collocation shares a word with another. One is cut only if the budget ends inside it, or, with
    `whole=True`, passed over then: smaller units take the rest of the budget, and only where there are none is it cut.
    """
    require_budget(budget, len(words))
    units = draw_units(words, collocations, dice, ranked)
    return first_words(fitting_first(units, budget) if whole else units, budget)


def draw_units(
    words: Sequence[str], collocations: Collocations, dice: np.random.Generator, ranked: bool = False
) -> list[range]:
    """All words of a sentence as collocations and single words, in the order in which they are to be hidden."""
    found = collocations.find(words)
    if ranked:
        best_first = _apart(sorted(found, key=lambda one: (one.rank, one.start)))
        single = _units((), len(words), set(chain.from_iterable(best_first)))
        return [*best_first, *(single[number] for number in dice.permutation(len(single)).tolist())]
    apart = _apart(found)
    units = _units(apart, len(words), set(chain.from_iterable(apart)))
    return [units[number] for number in dice.permutation(len(units)).tolist()]


def fitting_first(units: Iterable[range], budget: int, sizes: Sequence[int] | None = None) -> list[range]:
    """The units that fit one after the other into the budget, then those that did not, single words before others: one
    is cut if anything is left over. `sizes` says how much of the budget each word takes, where that is not 1."""
    fitting, others = [], []
    for unit in units:
        size = len(unit) if sizes is None else sum(sizes[word] for word in unit)
        if size <= budget:
            budget -= size
            fitting.append(unit)
        else:
            others.append(unit)
    return fitting + sorted(others, key=len)


def first_words(runs: Iterable[range], budget: int) -> list[int]:
    return list(chain.from_iterable(runs))[:budget]


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


def _units(runs: Sequence[range], count: int, inside: set[int]) -> list[range]:
    """The runs and, each by itself, the words that are in none."""
    return [*runs, *(range(word, word + 1) for word in range(count) if word not in inside)]
