"""Which folder a command may write a run to."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from acclimate.cli.places import check_folder_to_write
from acclimate.cli.settings import AdaptSettings
from acclimate.data.problems import InputError
from acclimate.layout import RUN, TRAINING, has_progress, is_comparison
from acclimate.model.storage import MANIFEST, StorageError
from acclimate.runs.fingerprint import changes
from acclimate.runs.folder import begun_with, is_finished, state_of
from acclimate.settings import UsageError


def default_folder(settings: AdaptSettings, fingerprint: Mapping[str, Any], overwrite: bool) -> Path:
    """runs/news-to-social-acclimate-seed-1; with a number behind it where that one is taken by another run."""
    ends = [Path(name).name.split(".")[0] for name in (settings.source, settings.target) if name]
    name = f"{'-to-'.join(ends)}-{settings.recipe}-seed-{settings.seed}"
    folders = (Path("runs") / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(folder for folder in folders if overwrite or _is_free(folder, fingerprint))


def _is_free(folder: Path, fingerprint: Mapping[str, Any]) -> bool:
    if not has_progress(folder):
        return not is_finished(folder)
    try:
        return not changes(begun_with(folder), fingerprint)
    except StorageError:
        return False


def require_no_run(folder: Path) -> None:
    """Refuse what cannot be a folder, and the folder of a run: settings and report would be lost to a comparison."""
    check_folder_to_write("--out", folder, "a comparison")
    if (folder / MANIFEST).is_file() or has_progress(folder):
        raise UsageError(f"{folder} holds a run of adapt. Choose another --out: a comparison needs its own folder.")


def require_free(folder: Path, fingerprint: Mapping[str, Any], overwrite: bool) -> bool:
    """Refuse a folder that holds anything but the beginning of the very same run. Whether the run goes on there."""
    if is_comparison(folder):
        raise UsageError(f"{folder} holds a comparison. Choose another --out: a run needs a folder of its own.")
    if overwrite:
        return False
    if is_finished(folder):
        raise UsageError(f"{folder} already holds a finished run. Choose another --out, or pass --overwrite.")
    if not has_progress(folder):
        (folder / TRAINING / RUN).unlink(missing_ok=True)  # nothing would be lost
        return False
    if state_of(folder, fingerprint) == "damaged":
        raise InputError(
            "damaged: it does not say what the unfinished run there was begun with. Choose another --out, or pass "
            "--overwrite to start anew.",
            file=folder / TRAINING / RUN,
        )
    return True
