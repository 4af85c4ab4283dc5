"""How messages spell arguments and numbers, and where they are printed.

`argument("skip_bad", True)` is `skip_bad=True` in Python, and `--set reading.skip_bad=true` while a command runs.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

Speller = Callable[[str, Any], str]
_of_command: ContextVar[Speller | None] = ContextVar("speller", default=None)


def argument(name: str, value: Any = None) -> str:
    """The name of an argument, with its value; `...` stands for a value of the user's choice."""
    if speller := _of_command.get():
        return speller(name, value)
    if value is None or value is ...:
        return name if value is None else f"{name}="
    return f"{name}={json.dumps(value) if isinstance(value, str) else value}"


def either(python: str, command: str) -> str:
    """The first text in Python, the second while a command runs."""
    return python if _of_command.get() is None else command


@contextmanager
def spelled_by(speller: Speller) -> Iterator[None]:
    """Spell arguments inside for the command line."""
    token = _of_command.set(speller)
    try:
        yield
    finally:
        _of_command.reset(token)


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A question with the closest known name, to append to a sentence; empty if none is close."""
    close = difflib.get_close_matches(given, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def count(number: int, noun: str) -> str:
    """1 word; 1,200 words."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def stderr_console(quiet: bool = False) -> Console:
    """The console on which a command prints everything but its results."""
    from rich.console import Console

    # no markup, no emoji codes: what is printed quotes the user's text, where [/b] and :cat: are words
    return Console(
        stderr=True, quiet=quiet, highlight=False, soft_wrap=True, markup=False, emoji=False, force_jupyter=False
    )


def describe_failure(failure: Exception) -> str:
    """The message of an exception; that of the operating system without its number."""
    if isinstance(failure, OSError) and failure.strerror:
        return f"{failure.strerror}." if failure.filename is None else f"{failure.filename}: {failure.strerror}."
    return str(failure)
