"""Putting bytes in their place: compressed by name, written aside and renamed, or sent to standard output."""

from __future__ import annotations

import gzip
import lzma
import os
import sys
from contextlib import suppress
from pathlib import Path

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
        sys.stdout.flush()
        left = memoryview(data)
        while left:  # an unbuffered standard output may take only a part at a time
            left = left[sys.stdout.buffer.write(left) :]
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".gz":
        data = gzip.compress(data, mtime=0)  # without the time, so that the same corpus gives the same file
    elif suffix == ".xz":
        data = lzma.compress(data)
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(data)
        os.replace(aside, path)
    except OSError as error:
        raise InputError(f"the file cannot be written ({error}).", file=path) from error
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
