"""Write files whole or not at all: compressed by name, renamed into place when complete, or to standard output."""

from __future__ import annotations

import gzip
import lzma
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from acclimate.data.problems import InputError


def encoded(text: str) -> bytes:
    """UTF-8. A text that begins with U+FEFF gets a second one: readers take the first for a byte-order mark."""
    try:
        return (f"\ufeff{text}" if text.startswith("\ufeff") else text).encode("utf-8")
    except UnicodeEncodeError as error:
        around = text[max(0, error.start - 20) : error.end + 20]
        problem = f"half of a surrogate pair (U+{ord(text[error.start]):04X}) cannot be written as UTF-8."
        raise InputError(problem, text=around) from error


def save(data: bytes, path: str | Path) -> None:
    """Write a file so that it is there whole or not at all; `-` is standard output."""
    if str(path) == "-":
        if sys.stdout is None:  # the caller has closed it
            raise InputError("standard output is closed: nothing can be written there. Redirect it, or name a file.")
        sys.stdout.flush()
        left = memoryview(data)
        while left:  # an unbuffered standard output may take only a part at a time
            left = left[sys.stdout.buffer.write(left) :]
        sys.stdout.buffer.flush()
        return
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def atomic_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to piece by piece, compressed by its name; it is put in its place when all went well."""
    path = Path(path)
    if is_stream(path):
        with _told_where(path), path.open("wb") as stored, _compressed(stored, path.suffix.lower()) as file:
            yield file
        return
    aside = aside_of(path)
    try:
        with _told_where(path, aside):
            path.parent.mkdir(parents=True, exist_ok=True)
            with aside.open("wb") as stored, _compressed(stored, path.suffix.lower()) as file:
                yield file
            os.replace(aside, path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def aside_of(path: Path) -> Path:
    """Where a file is written before it is put in its place."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def is_stream(path: str | Path) -> bool:
    """Whether what is written there flows on: standard output, /dev/null, a named pipe. Nothing is replaced by it."""
    # /dev/stdout may lead to a plain file, which the shell made for us to write into
    flows = str(path) in ("-", "/dev/stdout", "/dev/stderr") or str(path).startswith(("/dev/fd/", "/proc/self/fd/"))
    return flows or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))


@contextmanager
def _told_where(path: Path, aside: Path | None = None) -> Iterator[None]:
    """A failure to write, told by the name that the user knows."""
    try:
        yield
    except BrokenPipeError:  # whoever read it has seen enough
        raise
    except OSError as error:
        where = "" if error.filename in (None, str(path), str(aside)) else f": {error.filename}"
        problem = f"the file cannot be written ({error.strerror or error}{where}). Name a file elsewhere."
        raise InputError(problem, file=path) from error


@contextmanager
def _compressed(stored: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        with gzip.GzipFile("", "wb", fileobj=stored, mtime=0) as file:
            yield cast(IO[bytes], file)
    elif suffix == ".xz":
        with lzma.open(stored, "wb") as file:
            yield cast(IO[bytes], file)
    else:
        yield stored
