"""Errors in the user's input, with the file and line where they stand."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """A file and, if it is known, a line (counted from one)."""

    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        name = "<memory>" if self.file is None else self.file
        return name if self.line is None else f"{name}, line {self.line}"


class InputError(ValueError):
    """Bad input: the place, the text there, and what to do about it."""

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        text: str | None = None,
        place: Place | None = None,
    ) -> None:
        self.problem = problem
        self.place = place or Place(None if file is None else str(file), line)
        self.text = text
        super().__init__(str(self))

    def __str__(self) -> str:
        where = "" if self.place.file is None and self.place.line is None else f"{self.place}: "
        shown = "" if self.text is None else f" The text there: {shorten(self.text)!r}."
        return f"{where}{self.problem}{shown}"


class EmptyInput(InputError):
    """There is nothing in a file; no format would find anything."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A bad line that was left out because the user asked for it (`skip_bad`)."""

    place: Place
    problem: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem} The text there: {shorten(self.text)!r}."


def shorten(text: str, longest: int = 160) -> str:
    """The beginning of a long text: an error must fit on a screen."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def optional_library(module: str, problem: str, file: str | None = None) -> Any:
    """Import a library of an extra; `problem` says how to install it."""
    try:
        importlib.import_module(module.partition(".")[0])
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(problem, file=file) from error
