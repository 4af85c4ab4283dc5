"""The page as data: sections of blocks, each of which one template of `templates/blocks` shows. No script, and nothing
from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, ClassVar

from acclimate import __version__
from acclimate.reporting.formatting import Markup, render
from acclimate.reporting.svg import Figure


@dataclass(frozen=True)
class Cell:
    """One cell of a table, where it is more than a text: a range stands behind it, `sub` under it."""

    text: str
    range: str = ""
    sub: str = ""
    sign: str = ""  # before the text, which is then a badge of the class `badge`
    badge: str = ""
    is_code: bool = False
    is_strong: bool = False

    def __str__(self) -> str:
        return " ".join(filter(None, (self.sign, self.text, self.range, self.sub)))


@dataclass(frozen=True)
class Block:
    """A part of a section."""

    template: ClassVar[str]


@dataclass(frozen=True)
class Text(Block):
    """A paragraph; `strong` begins it, and a command may end it."""

    template = "text"
    text: str
    class_: str = ""
    code: str = ""
    strong: str = ""


@dataclass(frozen=True)
class Table(Block):
    """The first `words` columns are words, the others figures; the first cell of a row is its head."""

    template = "table"
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    words: int = 1
    class_: str = ""


@dataclass(frozen=True)
class Charts(Block):
    template = "charts"
    figures: Sequence[Figure]


@dataclass(frozen=True)
class Items(Block):
    template = "items"
    items: Sequence[str]


@dataclass(frozen=True)
class Chips(Block):
    """Words with what is told of each in small letters."""

    template = "chips"
    chips: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Fold(Block):
    """Blocks that a click unfolds."""

    template = "fold"
    summary: str
    blocks: Sequence[Block]
    is_open: bool = False


@dataclass(frozen=True)
class Edited:
    """Words of a sentence and what became of them: `hidden`, or replaced by other words, of which there may be none."""

    words: str
    by: str | None = None
    label: str | None = None
    is_hidden: bool = False


@dataclass(frozen=True)
class EditedSentences(Block):
    """Sentences as pieces that stayed (texts) and pieces that were changed; what is told of each stands below it."""

    template = "edited_sentences"
    rows: Sequence[tuple[Sequence[str | Edited], str]]
    class_: str = "masked"


@dataclass(frozen=True)
class Marked:
    """Words with a label; whether it is right is None in the gold view."""

    words: str
    label: str
    colour: int
    is_right: bool | None


@dataclass(frozen=True)
class MarkedSentence(Block):
    """One sentence in several views, each as pieces with a label and texts between them."""

    template = "marked_sentence"
    number: int
    views: Sequence[tuple[str, Sequence[str | Marked]]]


@dataclass(frozen=True)
class Section:
    """`about` says in a sentence or two how to read it. Without blocks, `missing` says why there are none."""

    name: str  # of its anchor, and in `acclimate report --only`
    title: str
    about: str = ""
    blocks: Sequence[Block] = ()
    missing: str | None = None

    def render(self) -> Markup:
        return render("section", section=self)


@dataclass(frozen=True)
class Opening:
    """What everybody reads first: one sentence in large letters, a few more, and a few figures under them."""

    class_: str
    headline: str
    lines: Sequence[str | None] = ()
    tiles: Sequence[tuple[str, str]] = ()


def missing(name: str, title: str, why: str) -> Section:
    return Section(name, title, missing=why)


def page(title: str, eyebrow: str, under: str, opening: Opening | None, sections: Sequence[Section]) -> str:
    """The whole file."""
    sheets = (files("acclimate.reporting").joinpath(name) for name in ("charts.css", "page.css"))
    style = Markup("\n" + "".join(sheet.read_text(encoding="utf-8") for sheet in sheets))
    head = {"title": title, "eyebrow": eyebrow, "under": under, "style": style, "version": __version__}
    return f"{render('page', **head, opening=opening, sections=sections)}\n"
