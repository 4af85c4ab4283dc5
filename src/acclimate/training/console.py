"""Where progress and warnings go: stderr, for stdout is for results."""

from __future__ import annotations

from rich.console import Console


def stderr_console(quiet: bool = False) -> Console:
    # no markup, no emoji codes: what is printed quotes the user's text, where [/b] and :cat: are words
    return Console(
        stderr=True, quiet=quiet, highlight=False, soft_wrap=True, markup=False, emoji=False, force_jupyter=False
    )
