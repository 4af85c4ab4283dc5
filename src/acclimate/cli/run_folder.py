"""Which folder a command may write a run or an encoder to, and what becomes of it when the command is interrupted."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from acclimate.cli.outputs import check_folder_to_write
from acclimate.cli.settings import AdaptSettings, CorporaSettings
from acclimate.cli.sources import sources_of
from acclimate.data.problems import InputError
from acclimate.layout import RUN, TRAINING, has_progress, is_comparison
from acclimate.model.storage import MANIFEST, StorageError
from acclimate.runs.fingerprint import changes
from acclimate.runs.folder import begun_with, is_finished, state_of
from acclimate.settings import UsageError
from acclimate.training.engine import is_main_process


def default_folder(settings: AdaptSettings, fingerprint: Mapping[str, Any], overwrite: bool) -> Path:
    """runs/news-to-social-acclimate-seed-1; with a number behind it where that one is taken by another run."""
    name = f"{name_of_task(settings, settings.tagger.start)}-{settings.recipe}-seed-{settings.seed}"
    folders = (Path("runs") / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(folder for folder in folders if overwrite or _is_free(folder, fingerprint))


def name_of_task(settings: CorporaSettings, start: str | None = None) -> str:
    """news-to-social; with several sources, news-and-btc-to-social; without any, general-to-social."""
    sources = "-and-".join(name.replace("/", "-") for name in sources_of(settings.source))
    sources = sources or (Path(start).name if start else "nothing")
    return f"{sources}-to-{Path(settings.target).name.split('.')[0]}" if settings.target else sources


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


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def take_folder(out: Path, overwrite: bool) -> None:
    """Refuse what cannot be a folder, or that holds a finished encoder which was not to be overwritten."""
    check_folder_to_write("--out", out, "an encoder")
    if is_main_process() and not overwrite and is_finished(out):
        raise UsageError(f"{out} already holds a finished encoder. Choose another --out, or pass --overwrite.")


@contextmanager
def resumable(out: Path, overwrite: bool) -> Iterator[None]:
    """After Ctrl-C, SIGTERM or a full disk, say how to go on with the run."""
    again = "the same command without --overwrite" if overwrite else "the same command"
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(f"What {out} holds is kept: {again} goes on from its last checkpoint.")
        raise
    except Exception as failure:
        number = _no_room(failure)
        if number is None:
            raise
        place = getattr(failure, "filename", None) or out
        told = OSError(number, os.strerror(number), str(place))
        told.add_note(f"What {out} holds is kept. Make room; {again} then goes on from its last checkpoint.")
        raise told from failure


def _no_room(failure: BaseException) -> int | None:
    """The number of an error that a full disk, a quota or a limit gave; libraries written in Rust only print it."""
    if isinstance(failure, OSError):
        return failure.errno if failure.errno in _NO_ROOM else None
    return next((number for number in _NO_ROOM if f"(os error {number})" in str(failure)), None)
