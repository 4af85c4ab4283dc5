"""What a reader is asked, what it finds, and the ledger of everything that was not taken as it stood."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from acclimate.data.corpus import BorderMiss
from acclimate.data.labels import Kind
from acclimate.data.problems import InputError, Skipped
from acclimate.data.schemes import Scheme, Span

Borders = Literal["split", "error", "expand", "contract", "drop"]
Tokenize = Literal["words", "blanks"]

_ADVICE_TO_SKIP = re.compile(r"[,;] or pass skip_bad=True( to leave its sentence out)?")


@dataclass(frozen=True, slots=True)
class Request:
    """How the user wants a file to be read; the options of `read_corpus`, which explains them."""

    scheme: Scheme | None = None
    labels: Kind | None = None
    column: int | str | None = None
    words_column: int | str | None = None
    comments: bool = False
    skip_bad: bool = False
    borders: Borders = "split"
    paragraphs: bool = False
    tokenize: Tokenize = "words"


@dataclass(slots=True)
class Found:
    """A sentence as the file spells it.

    Formats with one tag per word give `tags`, formats with marked stretches of text give `spans`; a sentence without
    annotation gives neither. `lines` has the line of each word, so that a bad tag can be pointed at.
    """

    words: Sequence[str]
    tags: Sequence[str] | None = None
    spans: Sequence[Span] | None = None
    lines: Sequence[int] = ()
    text: str | None = None
    offsets: Sequence[tuple[int, int]] | None = None
    document: str | None = None
    file: str | None = None  # when it is not the source itself (a folder has many)


@dataclass(slots=True)
class Ledger:
    """Stops at the first bad thing, or, with `skip_bad`, writes it down; keeps the rest of the notes as well."""

    request: Request
    kind: Kind | None = None  # set by a reader that knows which tags it gives
    skipped: list[Skipped] = field(default_factory=list)
    border_misses: list[BorderMiss] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # things that happen often: "words had …" → how many

    def refuse(
        self, error: InputError, *, file: str | None = None, line: int | None = None, text: str | None = None
    ) -> None:
        """Raise the error, or note it and go on. What the error does not know of its place is filled in."""
        place = error.place
        placed = InputError(
            error.problem,
            file=place.file or file,
            line=place.line if place.line is not None else line,
            text=error.text if error.text is not None else text,
        )
        if not self.request.skip_bad:
            raise placed from error.__cause__
        problem = _ADVICE_TO_SKIP.sub("", placed.problem)  # which was followed
        self.skipped.append(Skipped(placed.place, problem, placed.text or ""))

    def count(self, what: str, times: int = 1) -> None:
        """Something worth a remark happened; equal remarks are counted together."""
        self.counts[what] += times

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(f"{times:,} {what}" for what, times in self.counts.items())
