"""The log of a labelling session as it stands on disk: a line of JSON for each event, with its number and a checksum.

    {"number": 7, "at": "2026-01-31T12:00:00+00:00", "event": {"kind": "undo", …}, "check": "9f86d081884c7d65"}

A line that was being written when the machine stopped is torn. It can only be the last one, and was never acknowledged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from acclimate.data.problems import InputError

_DIGITS = 16  # of a checksum


@dataclass(frozen=True)
class Entry:
    """An event with its number, counted from 1, and when it was written."""

    number: int
    at: str
    event: Mapping[str, Any]


@dataclass(frozen=True)
class LogContent:
    """All whole lines of a log, how many bytes they take, and the bytes of a torn line behind them."""

    entries: tuple[Entry, ...]
    size: int
    torn: bytes = b""


def line_of(entry: Entry) -> bytes:
    """An entry as its line, which is pure ASCII: a note may hold half of an emoji."""
    content = {"number": entry.number, "at": entry.at, "event": dict(entry.event)}
    return json.dumps({**content, "check": _checksum(content)}).encode() + b"\n"


def read_log(path: Path) -> LogContent:
    """The entries of a log; none where there is no file. Damage before the last line is an error."""
    data = path.read_bytes() if path.exists() else b""
    entries: list[Entry] = []
    size = 0
    for line in BytesIO(data):  # unlike `splitlines`, which also cuts at \r
        entry = _entry_of(line)
        if entry is None or entry.number != len(entries) + 1:
            if size + len(line) == len(data):
                return LogContent(tuple(entries), size, line)
            raise _damaged(path, len(entries) + 1, line, entry)
        entries.append(entry)
        size += len(line)
    return LogContent(tuple(entries), size)


def _entry_of(line: bytes) -> Entry | None:
    """The entry of a whole line; None for any other."""
    if not line.endswith(b"\n"):
        return None
    try:
        found = json.loads(line)
        check = found.pop("check")
        number, at, event = found["number"], found["at"], found["event"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    is_sound = len(found) == 3 and isinstance(number, int) and isinstance(event, dict) and _checksum(found) == check
    return Entry(number, str(at), event) if is_sound else None


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def _damaged(path: Path, line: int, text: bytes, entry: Entry | None) -> InputError:
    what = "its checksum does not fit" if entry is None else f"its number is {entry.number}, and {line} was expected"
    advice = f"Bring back a copy of the file. Or cut it before this line: the {line - 1:,} events above are whole."
    shown = text.decode("utf-8", "backslashreplace").strip()
    return InputError(f"the log of answers is damaged: {what}. {advice}", file=path, line=line, text=shown)
