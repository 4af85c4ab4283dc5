"""How a name and a text are compared: as rows of atoms, each a run of letters and digits or one other sign.

Corpora are split into words in many ways (`Parkinson 's`, `Parkinson ' s`; `beta-blocker`, `beta - blocker`), and names
are not split at all. Their atoms are the same. Where a match may begin and end is asked of the text's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

CasePolicy = Literal["smart", "lower", "exact"]

LONGEST_ABBREVIATION = 6  # letters and digits; longer names in capitals are names that somebody wrote in capitals
_ATOM = re.compile(r"[^\W_]+|\S")
_SAME_SIGNS = str.maketrans({"’": "'", "‘": "'", "＇": "'", "‐": "-", "‑": "-", "–": "-", "−": "-"})


def atoms(text: str) -> list[str]:
    """`Parkinson’s disease` → `Parkinson`, `'`, `s`, `disease`."""
    return _ATOM.findall(text.translate(_SAME_SIGNS))


def size(name: str) -> int:
    """How many letters and digits a name has."""
    return sum(map(str.isalnum, name))


def in_capitals(name: str) -> bool:
    """Whether all letters are capitals, and there are two at least."""
    return name == name.upper() and sum(map(str.isalpha, name)) > 1 and name != name.lower()


def is_abbreviation(name: str) -> bool:
    """Short and in capitals: ALS, MS, T2DM, 5-FU."""
    return size(name) <= LONGEST_ABBREVIATION and in_capitals(name)


def says_nothing_by_capitals(names: Iterable[str]) -> bool:
    """Whether a list is written in capitals throughout, so that they tell no abbreviation. Long names decide."""
    long = [name for name in names if size(name) > LONGEST_ABBREVIATION]
    return 2 * sum(map(in_capitals, long)) > len(long)


def plural(name: str) -> str | None:
    """The name with an s, where its last letter takes one."""
    return f"{name}s" if name[-1:].isalpha() and name[-1] not in "sS" else None
