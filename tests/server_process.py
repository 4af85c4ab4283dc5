"""A server in a process of its own, for tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    """A server that answers already."""

    url: str
    process: subprocess.Popen[str]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def started(*words: object, says: str, **variables: str) -> Iterator[Process]:
    """The command `acclimate` with these words; `says` stands behind the address in its first line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "acclimate", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | variables,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        address = re.match(rf"(http://\S+) {says} ", line)
        assert address, line + process.communicate()[1]
        yield Process(address[1], process)
    finally:
        process.kill()
        process.communicate()
