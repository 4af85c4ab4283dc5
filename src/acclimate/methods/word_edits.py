"""Changes of sentences that a tagger learnt from, as rows of a run's record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

CHANGES = "changes"  # the kind of such rows in a run's record
NOTED = 8  # sentences that are written down at a time
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class WordEdit:
    """Words `start` to `end` of the original, and their replacement: words, none at all, or None for hidden."""

    start: int
    end: int
    by: tuple[str, ...] | None
    label: str | None = None  # of the entity that was exchanged

    def as_dict(self) -> dict[str, Any]:
        label = {} if self.label is None else {"label": self.label}
        return {"start": self.start, "end": self.end, "by": None if self.by is None else list(self.by), **label}


def noted_row(words: Sequence[str], edits: Iterable[WordEdit], side: str | None = None) -> dict[str, Any]:
    """One sentence as it was, with its edits, and the domain `side` that it comes from."""
    row = {"words": list(words), "edits": [edit.as_dict() for edit in edits]}
    return row if side is None else {**row, "side": side}


def edits_between(old: Sequence[str], new: Sequence[str]) -> list[WordEdit]:
    """The edits from one sentence to the other: word by word if both have one length, else one span."""
    if len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [WordEdit(place, place + 1, (after,)) for place, (before, after) in pairs if before != after]
    shorter = min(len(old), len(new))
    start = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    rest = shorter - start
    behind = next((place for place in range(rest) if old[-1 - place] != new[-1 - place]), rest)
    return [WordEdit(start, len(old) - behind, tuple(new[start : len(new) - behind]))]


def spread(items: Sequence[Item], most: int = NOTED) -> list[Item]:
    """At most so many of the items, evenly from the whole."""
    if len(items) <= most:
        return list(items)
    return [items[place * len(items) // most] for place in range(most)]


@dataclass(frozen=True)
class Edited:
    """Notes the same few edited sentences whenever it is called."""

    by: str  # what edited them
    rows: Sequence[dict[str, Any]]  # see `noted_row`
    kind: str = CHANGES

    def __call__(self, learner: Any) -> dict[str, Any]:
        return {"by": self.by, "rows": self.rows}
