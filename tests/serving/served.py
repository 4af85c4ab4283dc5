"""Texts, tiny taggers with opinions, and a server in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

import server_process
from acclimate.model.tagger import Tagger
from server_process import Process

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


@contextmanager
def started(*words: object, **variables: str) -> Iterator[Process]:
    """`acclimate serve` with these words, on a free port."""
    with server_process.started("serve", *words, "--port", "0", says="serves", **variables) as server:
        yield server
