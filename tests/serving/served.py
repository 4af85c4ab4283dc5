"""Texts, tiny taggers with opinions, and a server in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from acclimate.model.tagger import Tagger

TEXTS = [
    "",
    "Anna flew to Oslo.",
    "  \n ",
    "Bob Stone and Clara left Blue Bank yesterday. It rained all day!",
    "omg 👩‍👩‍👧 Anna is in New York 😀 !!! " * 7,
    "<b>Acme</b> & co",
    "東京に行く。 e\u0301tude",
    "Shares of United Nations fell by 3.5 percent . " * 60,
]


def opinionated(tagger: Tagger, seed: int) -> Tagger:
    """Untrained, a tagger has the same tag for all words."""
    torch.manual_seed(seed)
    with torch.no_grad():
        tagger.scores.weight.normal_(0, 2)
        tagger.head.transitions.normal_(0, 1)
    return tagger.eval()


@dataclass(frozen=True)
class Process:
    """A server in a process of its own."""

    url: str
    process: subprocess.Popen[str]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def started(*words: object, **variables: str) -> Iterator[Process]:
    """`acclimate serve` with these words, on a free port."""
    command = [sys.executable, "-m", "acclimate", "serve", *map(str, words), "--port", "0"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | variables,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        address = re.match(r"(http://\S+) serves ", line)
        assert address, line + process.communicate()[1]
        yield Process(address[1], process)
    finally:
        process.kill()
        process.communicate()
