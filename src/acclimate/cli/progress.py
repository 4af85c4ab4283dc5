"""What a person sees while a job runs. All of it goes to stderr: stdout is for results."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

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

if TYPE_CHECKING:
    from acclimate.data.selection.select import SelectionProgress


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


class _SpeedBar:
    """A bar with a speed, shown on a terminal alone."""

    def __init__(self, console: Console, title: str, total: int | None = None) -> None:
        self.console = console
        shown = [TextColumn(title, markup=False), BarColumn(bar_width=24), TaskProgressColumn()]
        shown += [TextColumn("{task.fields[state]}"), TextColumn("left"), TimeRemainingColumn()]
        self._bar = Progress(*shown, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=total, state="")
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._bar.stop()

    def _speed(self, number: float) -> float:
        return number / max(1e-9, time.monotonic() - self._started)

    def _show_words(self, completed: int, words: int) -> None:
        state = f"{words:,} words, {self._speed(words):,.0f} a second"
        self._bar.update(self._task, completed=completed, state=state)


class ReadingBar(_SpeedBar):
    """How much is read, and how fast; where stderr is no terminal, a line for each tenth."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, "reading")
        self._tenths = 0

    def show(self, progress: SelectionProgress) -> None:
        megabytes = progress.text / 1e6
        state = f"{megabytes:,.0f} MB, {self._speed(megabytes):,.1f} MB/s"
        self._bar.update(self._task, completed=progress.stored, total=progress.stored_of, state=state)
        tenths = 10 * progress.stored // max(1, progress.stored_of)
        if tenths > self._tenths and not self.console.is_terminal:
            self.console.print(f"{10 * tenths} % read: {state}")
        self._tenths = tenths


class TaggingBar(_SpeedBar):
    """How much is tagged, how fast, and how long it will take; `total` is None where nobody knows."""

    def __init__(self, console: Console, total: int | None) -> None:
        super().__init__(console, "tagging", total)
        self._total = total

    def show(self, done: int, words: int) -> None:
        """`done` of the total, and all words so far."""
        self._show_words(done if self._total is None else min(done, self._total), words)


class LabellingBar(_SpeedBar):
    """How far the text is read, and how fast; where stderr is no terminal, a line for each text."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, "labelling {task.description}")
        self.done = 0
        self._total = self._words = self._waiting = 0

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
            self._show_words(self.done, self._words)
