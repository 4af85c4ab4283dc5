"""One part of the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from acclimate.reporting.markup import EMPTY, Markup, join, paragraph, tag


@dataclass(frozen=True)
class Section:
    """`about` says in a sentence or two how to read it. Without a body, `missing` says why there is none."""

    name: str  # of its anchor
    title: str
    about: str
    body: Markup = EMPTY
    missing: str | None = None

    def render(self, prefix: str = "", level: int = 2) -> Markup:
        inside: list[Any] = [tag(f"h{level}", self.title)]
        if self.missing is None:
            inside += [paragraph(self.about, class_="about"), self.body]
        else:
            inside.append(paragraph(self.missing, class_="missing"))
        return tag("section", join(inside), id=f"{prefix}{self.name}")


def no_such(name: str, title: str, why: str) -> Section:
    return Section(name, title, "", missing=why)
