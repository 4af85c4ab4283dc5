"""What `pretrain` and `domain-tune` share: a folder that will hold an encoder, and a run that can be interrupted."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acclimate.cli.places import check_folder_to_write
from acclimate.runs.folder import is_finished
from acclimate.settings import UsageError
from acclimate.training.engine import is_main_process

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def take_folder(out: Path, overwrite: bool) -> None:
    """Refuse what cannot be a folder, or that holds a finished encoder which was not to be overwritten."""
    check_folder_to_write("--out", out, "an encoder")
    if is_main_process() and not overwrite and is_finished(out):
        raise UsageError(f"{out} already holds a finished encoder. Choose another --out, or pass --overwrite.")


@contextmanager
def told_how_to_go_on(out: Path, overwrite: bool) -> Iterator[None]:
    """After Ctrl-C, SIGTERM or on a full disk say what becomes of the work done so far."""
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
