"""What a command writes and shows: places that it may write to, and progress on stderr."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from acclimate.data.readers.source import inner_name
from acclimate.data.writers.shared import aside_of, is_stream
from acclimate.data.writing import files_to_write, format_to_write
from acclimate.settings import UsageError
from acclimate.spelling import count
from acclimate.spelling import stderr_console as stderr_console

_OF_DOCUMENTS = (".txt", ".ann")  # the files of a folder that are read as a corpus


def check_file_to_write(
    option: str, file: str | Path | None, overwrite: bool, inputs: Sequence[str | None] = ()
) -> None:
    """Refuse a place where no file can be made or replaced; files in `inputs` are never replaced. None is no file."""
    if file is None or is_stream(file):
        return
    if os.path.isdir(file):
        raise UsageError(f"{option} {file} is a folder: name a file.")
    if any(_is_same(file, read) for read in _files_of(inputs)):
        raise UsageError(f"{option} {file} is read by this command, and would be lost. Name another place.")
    if os.path.lexists(file) and not overwrite:
        raise UsageError(f"{option} {file} is there already. Name another place, or replace it with --overwrite.")
    obstacle = _obstacle_in(Path(file).absolute().parent, Path(file).name)
    if obstacle:
        raise UsageError(f"{option} {file}: {obstacle}. Name a file elsewhere.")


def check_folder_to_write(option: str, folder: Path | None, what: str = "") -> None:
    """Refuse a place where no folder can be made, or nothing be written in it."""
    if folder is None:
        return
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise UsageError(f"{folder} is a file; {what or option} needs a folder. Choose another {option}.")
    obstacle = _obstacle_in(folder.absolute())
    if obstacle:
        raise UsageError(f"{option} {folder}: {obstacle}. Choose another {option}.")


def check_place_to_write(
    option: str,
    place: str | Path | None,
    overwrite: bool = False,
    inputs: Sequence[str | None] = (),
    format: str | None = None,
    has_tags: bool = False,
) -> None:
    """The same for a corpus: a file, several files, or a folder."""
    if place is None or str(place) == "-":
        return
    if format in (None, "brat") and (os.path.isdir(place) or str(place).endswith("/")):
        _check_folder_of_documents(option, Path(place), overwrite, inputs)
        return
    check_file_to_write(option, place, overwrite, inputs)
    for file in files_to_write(place, format_to_write(place, format, has_tags)):
        check_file_to_write(option, file, overwrite, inputs)


def _check_folder_of_documents(option: str, folder: Path, overwrite: bool, inputs: Sequence[str | None]) -> None:
    check_folder_to_write(option, folder)
    what = f"{option} {folder} is a folder, where a corpus is written as brat (a .txt and an .ann for each document)"
    if any(_is_same(folder, Path(read).parent) for read in _files_of(inputs) if _is_of_documents(Path(read))):
        raise UsageError(f"{what}, and holds what is read by this command. Name another folder, or a file.")
    there = len(os.listdir(folder)) if os.path.isdir(folder) else 0
    if there and not overwrite:
        raise UsageError(
            f"{what}, and it holds {count(there, 'file')} already. Name a file, such as {folder / 'NAME.conll'}, or a "
            "folder that is empty; or pass --overwrite to replace the files of the same names."
        )
    if there:
        warn(f"{folder} holds {count(there, 'file')}. Those of other names stay there, and are read with the new ones.")


def _files_of(inputs: Sequence[str | None]) -> Iterator[Path]:
    for place in inputs:
        if place is not None and os.path.isdir(place):
            yield from (file for file in Path(place).iterdir() if _is_of_documents(file))
        elif place is not None:
            yield Path(place)


def _is_of_documents(file: Path) -> bool:
    return inner_name(file.name).endswith(_OF_DOCUMENTS)


def _is_same(one: str | Path, other: str | Path) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _obstacle_in(folder: Path, name: str = "acclimate") -> str:
    """Why no file of this name can be written in a folder, which may have to be made first; empty where it can.

    It is tried, as permissions do not tell all: /proc, a full disk, a name that is too long.
    """
    # not Path.exists, which fails where a folder above may not be looked into
    missing = [place for place in (folder, *folder.parents) if not os.path.lexists(place)]
    above = missing[-1].parent if missing else folder
    if not above.is_dir():
        return f"nothing can be written in {above}, which is a file"
    if not os.access(above, os.W_OK | os.X_OK):
        return f"nothing can be written in {above}, for want of permission"
    try:
        if not missing:
            aside = aside_of(folder / name)
            aside.touch()
            aside.unlink(missing_ok=True)
            return ""
        with suppress(FileExistsError):  # another process has just made it
            os.mkdir(missing[-1])
            with suppress(OSError):  # or has begun to write in it
                os.rmdir(missing[-1])
    except OSError as failure:
        return f"it cannot be written in {above} ({failure.strerror or failure})"
    return ""


def warn(message: str) -> None:
    """What a user must hear even with --quiet: something was repaired, skipped or moved."""
    stderr_console(quiet=False).print(message)


@contextmanager
def sentence_bar(console: Console, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar of the sentences that are done; call what it gives with the number of each batch."""
    with _bar(console, what, MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        yield partial(bar.advance, bar.add_task("", total=total))


@contextmanager
def reading_bar(console: Console) -> Iterator[Callable[[int, int, int], None]]:
    """A bar of how much is read, and how fast; where stderr is no terminal, a line for each tenth.

    Call what it gives with the bytes read of the files on disk, all their bytes, and the bytes of text.
    """
    begun, tenths = time.monotonic(), 0
    with _bar(console, "reading", *_SPEED) as bar:
        task = bar.add_task("", total=None, state="")

        def show(stored: int, of: int, text: int) -> None:
            nonlocal tenths
            state = f"{text / 1e6:,.0f} MB, {text / 1e6 / max(1e-9, time.monotonic() - begun):,.1f} MB/s"
            bar.update(task, completed=stored, total=of, state=state)
            before, tenths = tenths, 10 * stored // max(1, of)
            if tenths > before and not console.is_terminal:
                console.print(f"{10 * tenths} % read: {state}")

        yield show


_SPEED = TaskProgressColumn(), TextColumn("{task.fields[state]}"), TextColumn("left"), TimeRemainingColumn()


def _bar(console: Console, what: str, *columns: ProgressColumn) -> Progress:
    return Progress(
        TextColumn(what),
        BarColumn(bar_width=24),
        *columns,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def resumable(out: Path, overwrite: bool) -> Iterator[None]:
    """After Ctrl-C, SIGTERM or on a full disk, say how to go on with the run."""
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
        error = OSError(number, os.strerror(number), str(place))
        error.add_note(f"What {out} holds is kept. Make room; {again} then goes on from its last checkpoint.")
        raise error from failure


def _no_room(failure: BaseException) -> int | None:
    """The number of an error that a full disk, a quota or a limit gave; libraries written in Rust only print it."""
    if isinstance(failure, OSError):
        return failure.errno if failure.errno in _NO_ROOM else None
    return next((number for number in _NO_ROOM if f"(os error {number})" in str(failure)), None)
