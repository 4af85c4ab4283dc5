"""Numbers for words and characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

PADDING, UNKNOWN, HIDDEN = 0, 1, 2
SPECIAL = ("<padding>", "<unknown>", "<hidden>")  # <hidden> is what a masked word, or each of its characters, becomes


class Vocabulary:
    """Items with a number each; anything else is `UNKNOWN`."""

    def __init__(self, items: Iterable[str]) -> None:
        self.items = tuple(dict.fromkeys(items))
        self._numbers = {item: number for number, item in enumerate(self.items, start=len(SPECIAL))}

    @classmethod
    def of_counts(cls, counts: Counter[str], at_least: int = 1) -> Vocabulary:
        """The items seen often enough, most frequent first (ties by spelling, so that the order never wavers)."""
        kept = [(-count, item) for item, count in counts.items() if count >= at_least]
        return cls(item for _, item in sorted(kept))

    def __len__(self) -> int:
        """How many rows a table for this vocabulary needs."""
        return len(SPECIAL) + len(self.items)

    def __contains__(self, item: object) -> bool:
        return item in self._numbers

    def number(self, item: str) -> int:
        return self._numbers.get(item, UNKNOWN)
