"""HTML from templates, and the elements of drawings. Every text is escaped unless it is `Markup` already."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import markupsafe
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup as Markup

# what HTML has no way to write: control characters, halves of surrogate pairs
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


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


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element of a drawing. `class_` is class, `stroke_width` is stroke-width; None leaves an attribute out."""
    spelled = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{spelled}>{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """Children one after the other. None is nothing; lists are opened."""
    return Markup("".join(_flat(children)))


def _flat(children: Iterable[Any]) -> Iterator[str]:
    for child in children:
        if isinstance(child, str) or not isinstance(child, Iterable):
            yield escape(child)
        else:
            yield from _flat(child)
