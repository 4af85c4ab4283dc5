"""What a folder holds: a run, a comparison, or neither, and then why there is nothing to report."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from acclimate.data.problems import InputError
from acclimate.layout import COMPARISON, REPORT, is_begun, runs_of_comparison
from acclimate.model.storage import MANIFEST, StorageError, read_json, require_unchanged


def kind_of(folder: Path) -> Literal["run", "comparison"]:
    """Refuses a folder of which no report can be made, and says what is the matter."""
    if not folder.exists():
        raise InputError("there is no such folder.", file=folder)
    if not folder.is_dir():
        raise InputError("this is a file. Name the folder that `acclimate adapt` or `compare` wrote.", file=folder)
    if (folder / COMPARISON).is_file():
        return "comparison"
    if runs_of_comparison(folder):
        raise InputError(
            "this comparison is not finished. Give its `acclimate compare` command again to go on with it, or name "
            "one of its finished runs.",
            file=folder,
        )
    if is_begun(folder):
        raise InputError("this run is not finished. Give its command again to go on with it.", file=folder)
    if not (folder / REPORT).is_file() or not (folder / MANIFEST).is_file():
        raise InputError(
            "there is no run in this folder. Name one that `acclimate adapt --out` or `compare --out` wrote.",
            file=folder,
        )
    if "recipe" not in read_object(folder / REPORT):
        raise InputError("this is no run of `acclimate adapt` or `compare`: nothing was adapted in it.", file=folder)
    return "run"


def check(file: Path) -> None:
    """Refuse a file that is not what was written when the run was over."""
    try:
        require_unchanged(file)
    except StorageError as damage:
        raise InputError(str(damage)) from None


def read_object(file: Path) -> dict[str, Any]:
    """A JSON object; a damaged or changed file is named."""
    check(file)
    try:
        found = read_json(file)
    except (ValueError, RecursionError):
        raise InputError("this file is damaged: it is not JSON. Make the run again.", file=file) from None
    if not isinstance(found, dict):
        raise InputError("this file is damaged: something else was expected in it. Make the run again.", file=file)
    return found
