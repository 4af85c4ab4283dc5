"""MSLM's Algorithm 2 as it is written, a pass over the ranked vocabulary for every sentence: slow, and easy to check.

Repaired where its print is wrong (E2.2): one pass, which also ends where nothing is found or the budget is spent to the
last word; the words from `start` to `end` are hidden, where the printed names would lose some; hidden words are left
alone. Without `cut`, a collocation that no longer fits is passed over instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def literal_algorithm_2(
    words: Sequence[str], ranked: Iterable[Sequence[str]], budget: int, cut: bool = True, look_first: bool = True
) -> list[int]:
    """The words of a sentence that are hidden, by number, in the order in which they were chosen. The budget may be
    left over: the algorithm knows of collocations only. `look_first` asks for a collocation as one string before it is
    searched for word by word, which is as fast as Python can do it."""
    chosen: list[int] = []
    text = f" {' '.join(words)} "
    for collocation in ranked:
        if len(chosen) >= budget:
            break
        if look_first and f" {' '.join(collocation)} " not in text:
            continue
        for start in range(len(words) - len(collocation) + 1):
            end = start + len(collocation)
            if list(words[start:end]) != list(collocation) or not set(chosen).isdisjoint(range(start, end)):
                continue
            left = budget - len(chosen)
            if end - start > left and not cut:
                continue
            chosen += range(start, min(end, start + left))
    return chosen
