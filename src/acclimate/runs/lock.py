"""A folder in which one process trains at a time, and which is tidied of what a killed one left half written."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import IO, ParamSpec, TypeVar

from acclimate.settings import UsageError
from acclimate.spelling import argument
from acclimate.training.engine import is_main_process

try:
    import fcntl
except ImportError:  # pragma: no cover - a system without such locks
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
_held: dict[Path, int] = {}  # folders that this process has locked, and by which thread

P = ParamSpec("P")
R = TypeVar("R")


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Keep every other process out of this folder until the block ends.

    The operating system holds the lock and takes it back from a process that is killed. The thread that has it may ask
    for it again. Of several processes that train together the first one locks. A folder that was made for the lock
    goes again if nothing was put in it.
    """
    folder = Path(folder)
    known = folder.resolve()
    if not is_main_process() or _held.get(known) == threading.get_ident():
        yield
        return
    made = _made(folder)
    file = _opened(folder)
    _held[known] = threading.get_ident()
    try:
        _sweep(folder)
        yield
    finally:
        del _held[known]
        if file is not None:
            with suppress(OSError):
                os.unlink(folder / LOCK)  # while it is held: who waits for this one sees that it is gone
            file.close()
        for place in made:
            with suppress(OSError):
                place.rmdir()


def in_locked_folder(work: Callable[P, R]) -> Callable[P, R]:
    """The same around a function that works in the folder `out`, where it is given one."""

    asked = signature(work)

    @wraps(work)
    def locked_work(*given: P.args, **named: P.kwargs) -> R:
        out = asked.bind(*given, **named).arguments.get("out")
        with nullcontext() if out is None else locked(out):
            return work(*given, **named)

    return locked_work


def _made(folder: Path) -> list[Path]:
    """Make the folder; returns what was made, the innermost first."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return made


def _opened(folder: Path) -> IO[str] | None:
    """The lock file, locked; None where neither folder nor file system permit one: writing there will fail by itself,
    or two runs are told apart by nobody."""
    if fcntl is None:  # pragma: no cover
        return None
    place = folder / LOCK
    while True:
        try:
            file = place.open("a+", encoding="utf-8")
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                raise UsageError(_in_use(folder, file)) from None
        except OSError:
            file.close()
            return None
        if place.exists() and os.path.samestat(os.fstat(file.fileno()), place.stat()):
            file.truncate(0)
            file.write(f"{os.getpid()} {socket.gethostname()}\n")
            file.flush()
            return file
        file.close()  # whoever had it took the file away in the meantime


def _in_use(folder: Path, file: IO[str]) -> str:
    file.seek(0)
    pid, _, host = file.read().strip().partition(" ")
    where = "" if host in ("", socket.gethostname()) else f" on {host}"
    who = f"process {pid}{where}" if pid else "another process"
    return (
        f"{folder} is in use: {who} trains there. Wait until it has ended, or choose another folder "
        f"({argument('out')})."
    )


def _sweep(folder: Path) -> None:
    """Take away what a save that was killed left behind, beside the folder and in its `training`."""
    beside = folder.absolute().parent.glob(f".{glob.escape(folder.name)}.????????.part")
    for leftover in (*beside, *(folder / "training").rglob("*.part")):
        if leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)
