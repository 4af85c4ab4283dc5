"""The folder of a run, in one format: its state, its fingerprint, its lock. docs/reference/run-folder.md lists all
files."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import IO, Any, Literal, ParamSpec, TypeVar

from acclimate.data.problems import InputError
from acclimate.layout import (
    COMPACT_FORM,
    MEMBERS,
    RUN,
    TRAINING,
    has_progress,
    is_begun,
    is_comparison,
    runs_of_comparison,
)
from acclimate.model.storage import (
    MANIFEST,
    StorageError,
    finish_saving,
    is_intact,
    listed_files,
    read_json,
    remove_listed,
    verify,
    write_json,
)
from acclimate.runs.fingerprint import changed_data, changes
from acclimate.settings import UsageError
from acclimate.spelling import argument
from acclimate.training.loop import is_main_process

JUDGEMENTS = "selectors.json"  # what selectors said of the run
_MOST_LINES = 12  # of what has changed

State = Literal["new", "begun", "finished", "damaged"]


def state_of(folder: Path, wanted: Mapping[str, Any]) -> State:
    """What the folder holds of the run with this fingerprint. Refuses another run and foreign files."""
    if is_begun(folder):
        try:
            found = stored_fingerprint(folder)
        except StorageError:
            return "damaged"
        _require_same(folder, found, wanted)
        return "begun"
    return _state_of_saved(folder, wanted) if (folder / MANIFEST).is_file() else "new"


def _state_of_saved(folder: Path, wanted: Mapping[str, Any]) -> State:
    state: State = "finished"
    try:
        finish_saving(folder)
        verify(folder)
    except StorageError:
        state = "damaged"
    listed = listed_files(folder)
    if not ((folder / RUN).is_file() if listed is None else RUN in listed):
        raise UsageError(
            f"{folder} holds something that is no run (there is no {RUN}): move it away, or choose another folder "
            f"({argument('out')})."
        )
    if is_intact(folder, RUN):
        _require_same(folder, read_json(folder / RUN), wanted)
    return state


def is_finished(folder: Path) -> bool:
    """Whether the folder holds a saved result, and no run is replacing it."""
    return (folder / MANIFEST).is_file() and not is_begun(folder)


def stored_fingerprint(folder: Path) -> dict[str, Any]:
    """The fingerprint of the run that is not finished."""
    found = read_checksummed(folder / TRAINING / RUN)
    if not isinstance(found, dict):
        raise StorageError(f"{folder / TRAINING / RUN}: damaged (something else was expected in it).")
    return found


def begin(folder: Path, fingerprint: Mapping[str, Any], overwrite: bool = False) -> None:
    """Prepare the folder for this run, or for going on with it; the files of a damaged run are removed. `overwrite`
    starts anew, and keeps an older tagger until the new one is saved."""
    state = "new" if overwrite else state_of(folder, fingerprint)
    if overwrite or state == "damaged":
        shutil.rmtree(folder / MEMBERS, ignore_errors=True)
    if state == "damaged":
        (folder / JUDGEMENTS).unlink(missing_ok=True)
        if (folder / MANIFEST).is_file() and not is_begun(folder):
            remove_listed(folder)
    if state != "begun":
        shutil.rmtree(folder / TRAINING, ignore_errors=True)
        (folder / TRAINING).mkdir(parents=True)
        write_checksummed(folder / TRAINING / RUN, dict(fingerprint))


def add_start(folder: Path, fingerprint: Mapping[str, Any]) -> None:
    """Add what is known since preparing is over, or check it against what the run was begun with."""
    place = folder / TRAINING / RUN
    try:
        found = stored_fingerprint(folder)
    except StorageError:
        raise damaged(folder) from None
    _require_same(folder, found, fingerprint)
    if found.keys() != fingerprint.keys():
        write_checksummed(place, {**fingerprint, **found})


def damaged(folder: Path) -> InputError:
    return InputError(
        f"damaged: it does not say what the run there was begun with. Remove {folder / TRAINING}, or pass --overwrite "
        f"to start anew; or choose another folder ({argument('out')}).",
        file=folder / TRAINING / RUN,
    )


def finish(folder: Path) -> None:
    """Remove checkpoints, and the compact form of an older tagger, when all is saved."""
    remove_saved(folder / COMPACT_FORM)
    training = folder / TRAINING
    (training / RUN).unlink(missing_ok=True)
    for stage in (*training.glob("*/[0-9][0-9]-*"), *training.glob("[0-9][0-9]-*")):
        shutil.rmtree(stage, ignore_errors=True)


def remove_saved(folder: Path) -> None:
    """Remove what was saved there, if anything was."""
    if (folder / MANIFEST).is_file():
        remove_listed(folder)
        with suppress(OSError):  # something of the user's own is there
            folder.rmdir()


def require_unfinished(folder: Path, overwrite: bool, what: str = "run") -> None:
    """Refuse the folder of what is finished, unless it is to be overwritten."""
    if is_main_process() and not overwrite and is_finished(folder):
        raise UsageError(
            f"{folder} already holds a finished {what}. Choose another {argument('out')}, or pass --overwrite."
        )


def require_same_data(out: Path, data: Mapping[str, str | None]) -> None:
    """Refuse the folder of a comparison on other data, whose tables would be overwritten."""
    for found in _fingerprints_below(out):
        changed = changed_data(found.get("data") or {}, data)
        if changed:
            shown = "\n".join(changed)
            raise UsageError(
                f"{out} holds a comparison on other data:\n{shown}\n"
                f"Give the same corpora to go on with it, or choose another folder ({argument('out')})."
            )


def _fingerprints_below(out: Path) -> Iterator[Mapping[str, Any]]:
    """The fingerprints of all undamaged runs of a comparison."""
    for folder in runs_of_comparison(out):
        if is_begun(folder):
            with suppress(StorageError):
                yield stored_fingerprint(folder)
        elif is_intact(folder, RUN):
            yield read_json(folder / RUN)


def _require_same(folder: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    changed = changes(found, wanted)
    if changed:
        kind = "an unfinished" if is_begun(folder) else "a finished"
        shown = "\n".join(changed[:_MOST_LINES])
        raise UsageError(
            f"{folder} holds {kind} run that was begun with other settings or data:\n{shown}\n"
            "To go on with it give the same settings, data and first weights; otherwise choose another folder "
            f"({argument('out')})."
        )


def write_checksummed(place: Path, content: Any) -> None:
    """Write a small JSON file with a checksum of its own, whole or not at all."""
    aside = place.with_name(f"{place.name}.part")
    write_json(aside, {"checksum": _checksum(content), "content": content})
    aside.replace(place)


def read_checksummed(place: Path) -> Any:
    """The content of such a file; a StorageError where it is damaged."""
    try:
        file = read_json(place)
        if file["checksum"] == _checksum(file["content"]):
            return file["content"]
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise StorageError(f"{place}: damaged (its checksum does not fit).")


def _checksum(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


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
    """Keep every other process out of this folder until the block ends; the same thread may lock it again.

    The operating system releases the lock of a killed process. Of processes that train together the first one locks."""
    folder = Path(folder)
    known = folder.resolve()
    if not is_main_process() or _held.get(known) == threading.get_ident():
        yield
        return
    made = [place for place in (folder, *folder.parents) if not place.exists()]  # the innermost first
    folder.mkdir(parents=True, exist_ok=True)
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
    """Decorate a function that works in the folder `out` so that it locks it."""

    asked = signature(work)

    @wraps(work)
    def locked_work(*given: P.args, **named: P.kwargs) -> R:
        out = asked.bind(*given, **named).arguments.get("out")
        with nullcontext() if out is None else locked(out):
            return work(*given, **named)

    return locked_work


def _opened(folder: Path) -> IO[str] | None:
    """The lock file, locked; None where folder or file system permit none."""
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
    """Remove what a killed process left half written, beside the folder and in its `training`."""
    beside = folder.absolute().parent.glob(f".{glob.escape(folder.name)}.????????.part")
    for leftover in (*beside, *(folder / "training").rglob("*.part")):
        if leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def require_no_run(folder: Path) -> None:
    """Refuse the folder of a run to a comparison, which would overwrite settings and report."""
    if (folder / MANIFEST).is_file() or has_progress(folder):
        raise UsageError(
            f"{folder} holds a run of adapt. Choose another {argument('out')}: a comparison needs its own folder."
        )


def require_free(folder: Path, fingerprint: Mapping[str, Any], overwrite: bool) -> bool:
    """Refuse a folder that holds anything but the beginning of the same run. Returns whether that run goes on there."""
    out = argument("out")
    if is_comparison(folder):
        raise UsageError(f"{folder} holds a comparison. Choose another {out}: a run needs a folder of its own.")
    if overwrite:
        return False
    require_unfinished(folder, overwrite)
    if not has_progress(folder):
        (folder / TRAINING / RUN).unlink(missing_ok=True)  # nothing would be lost
        return False
    if state_of(folder, fingerprint) == "damaged":
        raise damaged(folder)
    return True
