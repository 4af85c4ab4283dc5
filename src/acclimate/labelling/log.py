"""The log of answers as it is written: append-only, synced before `append` returns, one writer at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from acclimate.data.answer_log import Entry, LogContent, line_of, read_log
from acclimate.settings import UsageError
from acclimate.spelling import argument, count

try:
    import fcntl
except ImportError:  # pragma: no cover - a system without such locks
    fcntl = None  # type: ignore[assignment]

ASIDE = ".torn"  # behind the name of the log: where torn lines are kept


class Log:
    """An open log. Whoever opens it has it alone until `close`; the lock of a killed process is released by itself."""

    def __init__(self, path: Path, warn: Callable[[str], Any]) -> None:
        """Lock the log and read it; a torn last line is moved into a file beside it, and `warn` is told."""
        self.path = path
        is_new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            self._lock()
            self.content = self._mended(read_log(path), warn)
            if is_new:
                sync_folder(path.parent)
        except BaseException:
            os.close(self._file)
            raise
        self._size, self._count = self.content.size, len(self.content.entries)
        self._is_open = True

    def append(self, event: Mapping[str, Any]) -> Entry:
        """Write an event. When this returns, it is on the disk; when it fails, the log is as it was before."""
        if not self._is_open:
            raise UsageError(f"{self.path}: the session is closed. Open it again to label.")
        entry = Entry(self._count + 1, datetime.now(UTC).isoformat(timespec="seconds"), event)
        line = line_of(entry)
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError:
            self._take_back()
            raise
        self._size, self._count = self._size + len(line), entry.number
        return entry

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _take_back(self) -> None:
        """Cut off what was half written; where that fails, too, write nothing any more."""
        try:
            os.ftruncate(self._file, self._size)
        except OSError:
            self.close()

    def _lock(self) -> None:
        if fcntl is None:  # pragma: no cover
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{self.path.parent} is in use: another `acclimate label` has this session open. Use its page, end it, "
                f"or choose another folder ({argument('out')})."
            ) from None
        except OSError:
            return  # a file system without locks

    def _mended(self, content: LogContent, warn: Callable[[str], Any]) -> LogContent:
        if not content.torn:
            return content
        aside = self.path.with_name(f"{self.path.name}{ASIDE}")
        with aside.open("ab") as file:
            file.write(content.torn if content.torn.endswith(b"\n") else content.torn + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.ftruncate(self._file, content.size)
        os.fsync(self._file)
        kept = count(len(content.entries), "event")
        warn(
            f"{self.path}: the last line was cut off while it was written ({count(len(content.torn), 'byte')}), before "
            f"anybody was told that it is saved. It is kept in {aside.name}; the {kept} before it are whole."
        )
        return LogContent(content.entries, content.size)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, too, where the system can."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
