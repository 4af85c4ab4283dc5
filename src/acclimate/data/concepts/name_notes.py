"""What became of the names that a dictionary was given."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NameConflict:
    """A name that two concepts have under different labels, and which of them it got."""

    name: str
    kept: str
    lost: str


@dataclass
class DictionaryNotes:
    """What became of the names."""

    concepts: int = 0
    names: int = 0  # all that were given, synonyms too
    twice: int = 0  # the same name under the same label again
    too_short: int = 0
    without_letter: int = 0
    excluded: int = 0  # by the user's list
    other_types: Counter[str] = field(default_factory=Counter)  # names left out, by the type that has no label
    conflicts: list[NameConflict] = field(default_factory=list)
    in_capitals: list[str] = field(default_factory=list)  # sources whose capitals say nothing
