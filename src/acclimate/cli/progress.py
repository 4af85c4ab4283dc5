"""What a person sees while a job runs. All of it goes to stderr: stdout is for results."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from acclimate.spelling import stderr_console as stderr_console


def warn(message: str) -> None:
    """What a user must hear even with --quiet: something was repaired, skipped or moved."""
    stderr_console(quiet=False).print(message)


def sentence_bar(console: Console, what: str) -> Progress:
    """A bar that counts sentences."""
    return Progress(
        TextColumn(what),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


class ReadingBar:
    """How much is read, and how fast; where stderr is no terminal, a line for each tenth."""

    def __init__(self, console: Console) -> None:
        self.console = console
        shown = [
            TextColumn("reading"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[state]}"),
        ]
        left = [TextColumn("left"), TimeRemainingColumn()]
        self._bar = Progress(*shown, *left, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=None, state="")
        self._started, self._tenths = time.monotonic(), 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._bar.stop()

    def show(self, stored: int, of: int, text: int) -> None:
        """Show the bytes read of the files on disk, all their bytes, and the bytes of text."""
        state = f"{text / 1e6:,.0f} MB, {text / 1e6 / max(1e-9, time.monotonic() - self._started):,.1f} MB/s"
        self._bar.update(self._task, completed=stored, total=of, state=state)
        tenths = 10 * stored // max(1, of)
        if tenths > self._tenths and not self.console.is_terminal:
            self.console.print(f"{10 * tenths} % read: {state}")
        self._tenths = tenths


class TaggingBar:
    """How much is tagged, how fast, and how long it will take; `total` is None where nobody knows."""

    def __init__(self, console: Console, total: int | None) -> None:
        shown = [TextColumn("tagging"), BarColumn(bar_width=24), TaskProgressColumn()]
        shown += [TextColumn("{task.fields[state]}"), TextColumn("left"), TimeRemainingColumn()]
        self._bar = Progress(*shown, console=console, transient=True, disable=not console.is_terminal)
        self._task, self._total = self._bar.add_task("", total=total, state=""), total
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._bar.stop()

    def show(self, done: int, words: int) -> None:
        """`done` of the total, and all words so far."""
        speed = words / max(1e-9, time.monotonic() - self._started)
        state = f"{words:,} words, {speed:,.0f} a second"
        done = done if self._total is None else min(done, self._total)
        self._bar.update(self._task, completed=done, state=state)


class LabellingBar:
    """How far the text is read, and how fast; where stderr is no terminal, a line for each text."""

    def __init__(self, console: Console) -> None:
        self.console = console
        shown = [TextColumn("labelling {task.description}", markup=False), BarColumn(bar_width=24)]
        shown += [TaskProgressColumn(), TextColumn("{task.fields[state]}"), TextColumn("left"), TimeRemainingColumn()]
        self._bar = Progress(*shown, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=None, state="")
        self.done = 0
        self._total = self._words = self._waiting = 0
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._bar.stop()

    def begin(self, name: str, size: int) -> None:
        self._total = self.done + size
        self._bar.update(self._task, description=name, total=self._total)
        if not self.console.is_terminal:
            self.console.print(f"labelling {name}")

    def advance(self, words: int) -> None:
        self._words += words
        self._waiting += words
        if self._waiting > 50_000:
            self._waiting = 0
            speed = self._words / max(1e-9, time.monotonic() - self._started)
            state = f"{self._words:,} words, {speed:,.0f} a second"
            self._bar.update(self._task, completed=self.done, state=state)
