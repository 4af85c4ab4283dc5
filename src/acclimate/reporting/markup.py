"""HTML that cannot be broken by what stands in it: every text is escaped unless it is `Markup` already."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

_VOID = frozenset({"meta", "br", "col"})
# what HTML has no way to write: control characters, halves of surrogate pairs
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


EMPTY = Markup()


def escape(text: object) -> Markup:
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(_UNWRITABLE.sub("�", str(text))))


def join(children: Iterable[Any], between: str = "") -> Markup:
    """Children one after the other. None is nothing; lists are opened."""
    return Markup(escape(between).join(_flat(children)))


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element. `class_` is class, `stroke_width` is stroke-width; None and False leave an attribute out."""
    spelled = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{spelled}>")
    return Markup(f"<{name}{spelled}>{join(children)}</{name}>")


def paragraph(*children: Any, class_: str | None = None) -> Markup:
    return tag("p", *children, class_=class_)


def table(head: Iterable[Any], rows: Iterable[Iterable[Any]], words: int = 1, class_: str | None = None) -> Markup:
    """A table that scrolls by itself where it is too wide. The first `words` columns are words, the others figures; the
    first cell of a row is its head."""
    shown = []
    for cells in rows:
        first, *others = cells
        body = [tag("td", cell, class_=None if place < words else "figure") for place, cell in enumerate(others, 1)]
        shown.append(tag("tr", tag("th", first, scope="row"), body))
    heads = [
        tag("th", cell, scope="col", class_=None if place < words else "figure") for place, cell in enumerate(head)
    ]
    whole = tag("table", tag("thead", tag("tr", heads)), tag("tbody", shown), class_=class_)
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label="table")


def details(summary: Any, *children: Any, class_: str | None = None) -> Markup:
    return tag("details", tag("summary", summary), *children, class_=class_)


def _flat(children: Iterable[Any]) -> Iterable[Markup]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, str) or not isinstance(child, Iterable):
            yield escape(child)
        else:
            yield from _flat(child)


def _attribute(key: str, value: Any) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
