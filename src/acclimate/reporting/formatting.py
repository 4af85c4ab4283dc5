"""How numbers and texts are spelled on the page: escaped for HTML, or filled into a template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import markupsafe
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup as Markup

from acclimate.evaluation.significance import SURE

UNKNOWN = "–"
MINUS = "\u2212"
# what HTML has no way to write: control characters, halves of surrogate pairs
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def percent(value: float | None, digits: int = 1) -> str:
    return UNKNOWN if value is None else f"{100 * value:.{digits}f}"


def signed(value: float | None) -> str:
    """A difference in percentage points, with its sign; a true minus is as wide as the plus."""
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


def equals(spelled: str) -> str:
    """A p-value within a sentence: `= 0.050`, or `< 0.001`."""
    return spelled if spelled.startswith("<") else f"= {spelled}"


def p_of_tests(change: Mapping[str, Any] | None) -> str:
    """The bootstrap's p-value, and the permutation test's where only that one is above the level."""
    if change is None:
        return UNKNOWN
    bootstrap, permutation = p_value(change["bootstrap_p"]), p_value(change["permutation_p"])
    disagree = change["bootstrap_p"] <= SURE < change["permutation_p"]
    return f"{bootstrap} (permutation test: {permutation})" if disagree else bootstrap


def decimal(value: float | None, digits: int = 3) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}".replace("-", MINUS)


def figures_of(tally: Mapping[str, Any] | None) -> tuple[float | None, float | None, float | None]:
    """Precision, recall and F1; None where there was nothing to find and nothing was found."""
    if tally is None or (tally.get("gold") == 0 and tally.get("predicted") == 0):
        return None, None, None
    return tally["precision"], tally["recall"], tally["f1"]


def short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(words: Iterable[Any]) -> str:
    return ", ".join(map(str, words))


def writable(value: object) -> str:
    """The value as text or markup, without what HTML cannot write. None is nothing."""
    if isinstance(value, Markup):
        return Markup(_UNWRITABLE.sub("�", value))
    return "" if value is None else _UNWRITABLE.sub("�", str(value))


def escape(value: object) -> Markup:
    return markupsafe.escape(writable(value))


def render(template: str, **values: Any) -> Markup:
    """A template of `reporting/templates`, filled in."""
    return Markup(_environment().get_template(f"{template}.html.j2").render(**values))


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("acclimate.reporting"),
        autoescape=True,
        finalize=writable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
