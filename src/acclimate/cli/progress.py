"""What a person sees while a job runs. All of it goes to stderr: stdout is for results."""

from __future__ import annotations

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from acclimate.cli.wording import in_options
from acclimate.training.progress_bar import stderr_console as stderr_console


def warn(message: str) -> None:
    """What a user must hear even with --quiet: something was repaired, skipped or moved."""
    context = click.get_current_context(silent=True)
    stderr_console(quiet=False).print(in_options(message, context.info_name if context else None))


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
