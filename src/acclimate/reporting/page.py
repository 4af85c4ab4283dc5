"""The page around the sections: head, style, contents. No script, and nothing from outside."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from acclimate import __version__
from acclimate.reporting.markup import Markup, join, paragraph, tag
from acclimate.reporting.section import Section


def page(title: str, eyebrow: str, under: str, opening: Any, sections: Sequence[Section]) -> str:
    """The whole file. `opening` is what everybody reads: the verdict."""
    style = files("acclimate.reporting").joinpath("page.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    contents = tag(
        "nav",
        tag("ul", [tag("li", tag("a", section.title, href=f"#{section.name}")) for section in sections]),
        aria_label="contents",
    )
    body = tag(
        "div",
        tag("header", paragraph(eyebrow, class_="eyebrow"), tag("h1", title), paragraph(under, class_="under")),
        tag("main", opening, contents, [section.render() for section in sections]),
        tag("footer", f"Made by acclimate {__version__}. This file needs nothing else: it can be sent as it is."),
        class_="page",
    )
    return "<!DOCTYPE html>\n" + join([tag("html", head, tag("body", body), lang="en"), "\n"])


def opening(class_: str, said: str, *more: Any, tiles: Sequence[tuple[str, str]] = ()) -> Markup:
    """The verdict: one sentence in large letters, and a few figures under it."""
    shown = tag(
        "div", [tag("div", tag("span", name), tag("b", value), class_="tile") for name, value in tiles], class_="tiles"
    )
    return tag("div", tag("h2", said), more, shown if tiles else None, class_=f"verdict {class_}")
