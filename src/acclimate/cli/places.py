"""Where a command may write."""

from __future__ import annotations

import os
from pathlib import Path


def check_file_to_write(option: str, file: str, overwrite: bool) -> None:
    """Better said now than after hours of work."""
    from acclimate.settings import UsageError

    path = Path(file).absolute()
    if path.is_dir():
        raise UsageError(f"{option} {file} is a folder: name a file.")
    if path.exists() and not overwrite:
        raise UsageError(f"{option} {file} is there already. Name another file, or replace it with --overwrite.")
    above = next(folder for folder in path.parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise UsageError(f"{option} {file}: nothing can be written in {above}. Name a file elsewhere.")
