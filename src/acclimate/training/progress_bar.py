"""What a person sees while a model trains."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from acclimate.spelling import count, stderr_console
from acclimate.training.loop import is_main_process

P = ParamSpec("P")
R = TypeVar("R")


class Watcher:
    """Hears of what happens in training. This one shows nothing, but passes warnings on."""

    def skip(self, stage: str, updates: int, text: str) -> None: ...
    def begin(self, stage: str, update: int, updates: int) -> None: ...
    def advance(self, progress: Any, losses: Mapping[str, float] | None) -> None: ...
    def judged(self, update: int, text: str, is_best: bool) -> None: ...
    def end(self, stage: str) -> None: ...

    def warned(self, message: str) -> None:
        warnings.warn(message, stacklevel=2)


class TrainingBar(Watcher):
    """A bar per stage with loss, speed, best score and time left; a line per evaluation where there is no terminal."""

    unit = "words"
    pause = "between stages: tagging and scoring"

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bar: Progress | None = None
        self._waiting = console.status(self.pause)
        self._task: Any = None
        self._best = ""
        self._words, self._since = 0, time.monotonic()

    def __enter__(self) -> Self:
        self._waiting.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._waiting.stop()
        self._stop_bar()

    def skip(self, stage: str, updates: int, text: str) -> None:
        best = f", best {text}" if text else ""
        self.console.print(f"stage {stage}: finished before ({count(updates, 'update')}{best})")

    def begin(self, stage: str, update: int, updates: int) -> None:
        self._waiting.stop()
        self._best, self._words, self._since = "", 0, time.monotonic()
        if update:
            self.console.print(f"stage {stage}: going on from update {update:,} of {updates:,}")
        if not self.console.is_terminal:
            self.console.print(f"stage {stage}: {count(updates, 'update')}")
            return
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(stage, total=updates, completed=update, state="")

    def advance(self, progress: Any, losses: Mapping[str, float] | None) -> None:
        self._words += progress.words
        state: dict[str, Any] = {}
        if losses is not None:
            speed = self._words / max(1e-9, time.monotonic() - self._since)
            shown = " ".join(f"{name} {loss:.3f}" for name, loss in losses.items())
            state = {"state": f"{shown} {speed:,.0f} {self.unit}/s{self._standing()}"}
            if self._bar is None:
                self._log(progress, shown, speed)
        if self._bar is not None:
            self._bar.update(self._task, completed=progress.update, **state)

    def _log(self, progress: Any, shown: str, speed: float) -> None: ...  # where there is no bar

    def judged(self, update: int, text: str, is_best: bool) -> None:
        if is_best:
            self._best = text
        if self._bar is None and text:
            self.console.print(f"  update {update:,}: {text}{' (best so far)' if is_best else ''}")

    def end(self, stage: str) -> None:
        self._stop_bar()
        elapsed = time.monotonic() - self._since
        best = f", best {self._best}" if self._best else ""
        self.console.print(f"stage {stage}: done in {elapsed:,.0f} s{best}")
        self._waiting.start()

    def _standing(self) -> str:
        return f" best {self._best}" if self._best else ""

    def _stop_bar(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class PretrainingBar(TrainingBar):
    """A `TrainingBar` for pre-training: pieces, and the loss on held-out text."""

    unit = "pieces"
    pause = "preparing text"

    def _log(self, progress: Any, shown: str, speed: float) -> None:
        every = max(10, progress.updates // 50 // 10 * 10)  # about fifty lines in a log file
        if progress.update % every == 0:
            left = (progress.updates - progress.update) * progress.words / max(speed, 1e-9)
            self.console.print(f"  update {progress.update:,}: {shown}, {speed:,.0f} pieces/s, {left:,.0f} s left")

    def judged(self, update: int, text: str, is_best: bool) -> None:
        super().judged(update, text, is_best)
        if text:
            self._best = text

    def _standing(self) -> str:
        return f" {self._best}" if self._best else ""

    def end(self, stage: str) -> None:
        self._stop_bar()
        now = f", {self._best}" if self._best else ""
        self.console.print(f"stage {stage}: done in {time.monotonic() - self._since:,.0f} s{now}")


def shown_in_training(work: Callable[P, R]) -> Callable[P, R]:
    """Give a function that trains a `TrainingBar` as `watcher`: if `progress` is True, or None in a terminal or a
    notebook."""
    asked = signature(work)

    @wraps(work)
    def shown(*given: P.args, **named: P.kwargs) -> R:
        arguments = asked.bind(*given, **named).arguments
        progress = arguments.get("progress")
        console = Console(stderr=True)
        wanted = console.is_terminal or console.is_jupyter if progress is None else progress
        if arguments.get("watcher") is not None or not wanted or not is_main_process():
            return work(*given, **named)
        with TrainingBar(stderr_console()) as bar:
            return work(*given, **{**named, "watcher": bar})  # type: ignore[arg-type]

    return shown
