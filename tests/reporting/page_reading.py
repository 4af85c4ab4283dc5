"""A page as a browser reads it, strictly: what is opened is closed, in the right order."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "col"}


class Page(HTMLParser):
    """Elements with their attributes, the text, the ids; raises where the page is not well-formed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.sections: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.sections[dict(attrs)["id"] or ""] = ""

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)
            if self.sections:
                self.sections[list(self.sections)[-1]] += data

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.texts))

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.elements if "id" in attributes]

    @property
    def addresses(self) -> list[str]:
        """Everything that a browser might fetch."""
        names = ("src", "href", "action", "data", "poster", "srcset", "xlink:href")
        return [attributes[name] or "" for _, attributes in self.elements for name in names if name in attributes]
