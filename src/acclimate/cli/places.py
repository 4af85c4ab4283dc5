"""Where a command may write. Better said at once than after hours of work."""

from __future__ import annotations

import os
from pathlib import Path


def check_file_to_write(option: str, file: str | Path | None, overwrite: bool = True) -> None:
    """Refuse a place where no file can be made, or where one is that was not to be replaced; None is no file."""
    from acclimate.settings import UsageError

    if file is None:
        return
    if os.path.isdir(file):
        raise UsageError(f"{option} {file} is a folder: name a file.")
    if os.path.lexists(file) and not overwrite:
        raise UsageError(f"{option} {file} is there already. Name another file, or replace it with --overwrite.")
    obstacle = _obstacle_in(Path(file).absolute().parent)
    if obstacle:
        raise UsageError(f"{option} {file}: {obstacle}. Name a file elsewhere.")


def check_folder_to_write(option: str, folder: Path | None, what: str = "") -> None:
    """Refuse a place where no folder can be made, or nothing be written in it."""
    from acclimate.settings import UsageError

    if folder is None:
        return
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise UsageError(f"{folder} is a file; {what or option} needs a folder. Choose another {option}.")
    obstacle = _obstacle_in(folder.absolute())
    if obstacle:
        raise UsageError(f"{option} {folder}: {obstacle}. Choose another {option}.")


def check_place_to_write(option: str, place: Path | None) -> None:
    """The same for a corpus, which may be a file, or a folder of files."""
    if place is not None and place.is_dir():
        check_folder_to_write(option, place)
    else:
        check_file_to_write(option, place)


def _obstacle_in(folder: Path) -> str:
    """Why nothing can be written in a folder, which may have to be made first; empty where it can."""
    # not Path.exists, which fails where a folder above may not be looked into
    above = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
    if not above.is_dir():
        return f"nothing can be written in {above}, which is a file"
    if not os.access(above, os.W_OK | os.X_OK):
        return f"nothing can be written in {above}, for want of permission"
    return ""
