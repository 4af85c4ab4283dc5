"""The log: on the disk before it says so, whole at any moment at which it is killed, and read as it was written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.answer_log import Entry, line_of, read_log
from acclimate.data.problems import InputError
from acclimate.labelling import log as log_module
from acclimate.labelling.log import ASIDE, Log
from acclimate.settings import UsageError

EVENTS: list[dict[str, Any]] = [
    {"kind": "answers", "annotator": "anna", "answers": [{"sentence": "a", "note": "a\nb\r\u2028 ÿ \ud83d"}]},
    {"kind": "undo", "annotator": "anna", "of": 1},
    {"kind": "round", "number": 1, "seconds": 0.5},
]


def opened(path: Path, told: list[str] | None = None) -> Log:
    return Log(path, (told if told is not None else []).append)


def written(path: Path, events: list[dict[str, Any]] = EVENTS) -> bytes:
    with opened(path) as log:
        for event in events:
            log.append(event)
    return path.read_bytes()


def events_of(path: Path) -> list[dict[str, Any]]:
    return [dict(entry.event) for entry in read_log(path).entries]


def test_what_was_appended_is_read_again_also_after_opening_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    written(path, EVENTS[:1])
    written(path, EVENTS[1:])
    assert events_of(path) == EVENTS
    assert [entry.number for entry in read_log(path).entries] == [1, 2, 3]


def test_at_every_byte_at_which_a_write_can_stop_the_lines_before_it_stay(tmp_path: Path) -> None:
    whole = written(tmp_path / "log")
    ends = [0, *(place + 1 for place, byte in enumerate(whole) if byte == ord("\n"))]
    for cut in range(len(whole) + 1):
        path, told = tmp_path / f"cut-{cut}", list[str]()
        path.write_bytes(whole[:cut])
        kept = sum(end <= cut for end in ends) - 1
        assert len(read_log(path).entries) == kept
        assert path.read_bytes() == whole[:cut], "reading changes nothing"
        with opened(path, told) as log:
            assert len(log.content.entries) == kept
            log.append({"kind": "round", "number": 9})
        assert events_of(path) == [*EVENTS[:kept], {"kind": "round", "number": 9}]
        torn = whole[ends[kept] : cut]
        aside = tmp_path / f"cut-{cut}{ASIDE}"
        assert (aside.read_bytes().rstrip(b"\n") if aside.exists() else b"") == torn
        assert len(told) == (1 if torn else 0)


@given(st.data())
def test_no_changed_byte_goes_unnoticed(data: st.DataObject) -> None:
    lines = [line_of(Entry(number, "now", event)) for number, event in enumerate(EVENTS, start=1)]
    whole = b"".join(lines)
    place = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[place]))
    changed = whole[:place] + bytes([byte]) + whole[place + 1 :]
    file = Path(os.environ.get("TMPDIR", "/tmp")) / f"acclimate-log-{os.getpid()}"
    file.write_bytes(changed)
    try:
        in_last = place >= len(lines[0] + lines[1])
        if in_last:
            assert [dict(entry.event) for entry in read_log(file).entries] == EVENTS[:2]
        else:
            with pytest.raises(InputError, match="damaged"):
                read_log(file)
    finally:
        file.unlink()


@pytest.mark.parametrize("lines", [[1, 0, 2], [0, 2], [0, 0, 1, 2]])
def test_lines_in_another_order_missing_or_twice_are_refused(tmp_path: Path, lines: list[int]) -> None:
    path = tmp_path / "log"
    all_lines = written(path).splitlines(keepends=True)
    path.write_bytes(b"".join(all_lines[number] for number in lines) + all_lines[2])
    with pytest.raises(InputError, match=r"line \d: the log of answers is damaged"):
        read_log(path)
    before = path.read_bytes()
    with pytest.raises(InputError):
        opened(path)
    assert path.read_bytes() == before


def test_the_second_who_opens_a_log_is_refused_until_the_first_closes_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with opened(path), pytest.raises(UsageError, match="is in use"):
        opened(path)
    with opened(path):
        pass


def test_a_write_that_fails_half_way_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    with opened(path) as log:
        log.append(EVENTS[0])
        write = os.write

        def full_disk(file: int, data: Any) -> int:
            if len(data) > 20:
                return write(file, bytes(data[:20]))
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(log_module.os, "write", full_disk)
        with pytest.raises(OSError, match="No space"):
            log.append({"kind": "round", "note": "x" * 7})
        monkeypatch.undo()
        log.append(EVENTS[2])
    assert events_of(path) == [EVENTS[0], EVENTS[2]]


def test_an_event_is_synced_before_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "log", list[int]()
    with opened(path) as log:
        monkeypatch.setattr(log_module.os, "fsync", lambda file: synced.append(path.stat().st_size))
        log.append(EVENTS[0])
        assert synced == [path.stat().st_size]
        monkeypatch.setattr(log_module.os, "fsync", lambda file: (_ for _ in ()).throw(OSError(5, "I/O error")))
        with pytest.raises(OSError, match="I/O"):
            log.append(EVENTS[1])
    assert events_of(path) == [EVENTS[0]], "what could not be synced was not acknowledged, and is not there"


def test_every_event_that_a_killed_writer_acknowledged_is_there(tmp_path: Path) -> None:
    path = tmp_path / "log"
    program = f"""
import sys
from pathlib import Path
from acclimate.labelling.log import Log
log = Log(Path({str(path)!r}), print)
number = 0
while True:
    number += 1
    log.append({{"kind": "round", "number": number, "filling": "x" * (number % 7000)}})
    print(number, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(50):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    acknowledged = 50 + len(process.stdout.read().split())
    process.wait()
    process.stdout.close()
    told: list[str] = []
    with opened(path, told) as log:  # the lock went with the process
        numbers = [entry.event["number"] for entry in log.content.entries]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= acknowledged


def test_a_closed_log_takes_nothing_any_more(tmp_path: Path) -> None:
    log = opened(tmp_path / "log")
    log.close()
    with pytest.raises(UsageError, match="closed"):
        log.append(EVENTS[0])


def test_a_line_is_one_line_of_ascii_with_its_own_checksum() -> None:
    line = line_of(Entry(1, "2026-01-31T12:00:00+00:00", EVENTS[0]))
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert set(json.loads(line)) == {"number", "at", "event", "check"}
