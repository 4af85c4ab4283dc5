"""Which folder a command may write a run to, and which folder holds a tagger."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from acclimate.analysis.run_records import runs_of_comparison
from acclimate.cli.places import check_folder_to_write
from acclimate.cli.settings import AdaptSettings
from acclimate.data.problems import InputError
from acclimate.inference.shipped import resolved_tagger
from acclimate.model.storage import MANIFEST, StorageError
from acclimate.recipes.catalogue import BASELINE
from acclimate.reporting.folders import COMPARISON
from acclimate.runs.fingerprint import changes
from acclimate.runs.folder import RUN, TRAINING, begun_with, has_progress, is_finished, state_of
from acclimate.runs.result import BEFORE
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


def is_comparison(folder: Path) -> bool:
    """Whether `compare` keeps its runs there: finished, or under way."""
    return (folder / COMPARISON).is_file() or any(folder.glob("runs/*/seed-*"))


def require_no_run(folder: Path) -> None:
    """Refuse what cannot be a folder, and the folder of a run: settings and report would be lost to a comparison."""
    check_folder_to_write("--out", folder, "a comparison")
    if (folder / MANIFEST).is_file() or has_progress(folder):
        raise UsageError(f"{folder} holds a run of adapt. Choose another --out: a comparison needs its own folder.")


def require_finished(folder: Path) -> None:
    """Tell a run that was cut off, and a comparison of many, from a folder that never held a tagger."""
    if is_comparison(folder) and not (folder / MANIFEST).is_file():
        runs = runs_of_comparison(folder)
        such = f", such as {runs[0]}" if runs else ""
        raise InputError(f"{folder}: this is a comparison, which holds many taggers. Name one of its runs{such}.")
    if has_progress(folder) and not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder}: this run is not finished. Give its `acclimate adapt` command again to go on with it."
        )


def tagger_in(place: str, before: bool) -> Path:
    """The folder of a tagger: of a shipped one, of a run's adapted one, or of the one "before" that the run keeps."""
    folder = resolved_tagger(place)
    require_finished(folder)
    if not before:
        return folder
    kept = folder / BEFORE
    if (kept / MANIFEST).is_file():
        return kept
    beside = folder.parent.parent / BASELINE.name / folder.name  # in a comparison
    if (beside / MANIFEST).is_file():
        raise UsageError(f'{folder}: in a comparison "before" is a run of its own, {beside}. Name that one.')
    raise UsageError(f'{folder} holds one tagger only: nothing was adapted there, so there is no "before".')


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
