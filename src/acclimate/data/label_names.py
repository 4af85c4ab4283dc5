"""Names of labels that mean the same by the look of it: `person` is PER, `geo-loc` is LOC."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SHORTEST = 3  # letters of a name that may be a word of another one: LOC in geo-loc, not P in p-value
_BEGINNING = 4  # letters that two names must begin with: CHEM and chemical, but ORG and organism do not mean the same
# what three letters usually stand for
_USUAL = {
    "per": {"person", "people"},
    "org": {"organization", "organisation"},
    "loc": {"location", "locality"},
    "fac": {"facility"},
    "eve": {"event"},
    "pro": {"product"},
    "tim": {"time"},
    "num": {"number"},
    "med": {"medication", "medicine"},
    "dis": {"disease"},
}


def alike(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Names that mean a known one. Only where one alone fits: what is not evident is left to who knows the data."""
    known = list(known)
    found = {}
    for name in names:
        fitting = [other for other in known if _look_alike(name, other)]
        if len(fitting) == 1:
            found[name] = fitting[0]
    return found


def _look_alike(name: str, other: str) -> bool:
    shorter, longer = sorted((_words(name), _words(other)), key=lambda words: len("".join(words)))
    short, long = "".join(shorter), "".join(longer)
    if short and long in (short, f"{short}s"):
        return True
    if len(short) < _SHORTEST:
        return False
    begins = len(short) >= _BEGINNING and long.startswith(short)
    return begins or short in longer or long.removesuffix("s") in _USUAL.get(short, ())


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", name.lower()) if word]
