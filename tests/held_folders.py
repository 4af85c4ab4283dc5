"""Folders that somebody else trains in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acclimate.runs.folder import locked


@contextmanager
def held_by_a_thread(folder: Path) -> Iterator[None]:
    """Another thread holds the folder, as another process would."""
    holding, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(folder):
            holding.set()
            enough.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait()
    try:
        yield
    finally:
        enough.set()
        thread.join()
