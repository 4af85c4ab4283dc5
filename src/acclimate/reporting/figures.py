"""How numbers are spelled on the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from acclimate.evaluation.significance import SURE

UNKNOWN = "–"
MINUS = "\u2212"


def percent(value: float | None, digits: int = 1) -> str:
    return UNKNOWN if value is None else f"{100 * value:.{digits}f}"


def signed(value: float | None) -> str:
    """In percent points, with its sign; a true minus is as wide as the plus."""
    if value is None:
        return UNKNOWN
    shown = f"{100 * value:+.1f}"
    return "±0.0" if float(shown) == 0 else shown.replace("-", MINUS)


def between(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"


def signed_between(low: float, high: float) -> str:
    return f"{signed(low)} to {signed(high)}"


def p_value(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def p_equals(value: float | None) -> str:
    return equals(p_value(value))


def equals(spelled: str) -> str:
    """As it stands in a sentence behind a p: `= 0.050`, or `< 0.001`."""
    return spelled if spelled.startswith("<") else f"= {spelled}"


def p_of_tests(change: Mapping[str, Any] | None) -> str:
    """That of the bootstrap, and that of the permutation test where it takes the claim back."""
    if change is None:
        return UNKNOWN
    told = p_value(change["bootstrap_p"])
    takes_back = change["bootstrap_p"] <= SURE < change["permutation_p"]
    return f"{told} (permutation test: {p_value(change['permutation_p'])})" if takes_back else told


def decimal(value: float | None, digits: int = 3) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}".replace("-", MINUS)


def figures_of(tally: Mapping[str, Any] | None) -> tuple[float | None, float | None, float | None]:
    """Precision, recall and F1; none of them where nothing was to be found and nothing was found."""
    if tally is None or (tally.get("gold") == 0 and tally.get("predicted") == 0):
        return None, None, None
    return tally["precision"], tally["recall"], tally["f1"]


def coordinate(value: float) -> str:
    """As SVG needs it, and no longer."""
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown in ("-0", "") else shown


def short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(words: Iterable[Any]) -> str:
    return ", ".join(map(str, words))
