"""A desk with clients: in the same process, over HTTP, and the words of a session as people would label them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sessions import begin
from starlette.testclient import TestClient

from acclimate.data.corpus import Corpus
from acclimate.labelling.desk import Desk, build_app
from acclimate.labelling.session import Session
from acclimate.serving.server import Server, bind, hosts_of, url_of
from acclimate.serving.settings import AccessSettings

NAMES = {"Anna": "PER", "Bob": "PER", "Clara": "PER", "Oslo": "LOC", "Rome": "LOC", "Lima": "LOC"}
POSTS = Corpus.of_texts(
    [
        ["Anna", "saw", "Oslo", "yesterday"],
        ["Bob", "Stone", "left", "Rome"],
        ["nobody", "knows", "why"],
        ["from", "Lima", "to", "Oslo", "with", "Clara"],
        ["Rome", "is", "cold", "today"],
        ["she", "met", "Clara", "Jones", "there"],
        ["Oslo", "and", "Lima", "and", "Rome"],
        ["it", "rained", "all", "day"],
        ["Anna", "called", "Bob"],
        ["trains", "to", "Lima", "are", "late"],
        ["Clara", "likes", "Rome", "very", "much"],
        ["the", "end", "is", "near"],
    ],
    name="posts",
)


def spans_of(words: list[str] | tuple[str, ...]) -> list[tuple[int, int, str]]:
    """Those of a sentence of `POSTS`: a name goes on over a last name."""
    found = []
    for place, word in enumerate(words):
        if word in NAMES:
            has_last = place + 1 < len(words) and words[place + 1] in ("Stone", "Jones")
            found.append((place, place + 1 + has_last, NAMES[word]))
    return found


def client_of(session: Session, token: str | None = None, hosts: tuple[str, ...] = (), **access: Any) -> TestClient:
    desk = Desk(session, AccessSettings(**access), learns=False)
    return TestClient(build_app(desk, hosts, token), raise_server_exceptions=False)


def client_on(folder: Path, **settings: Any) -> tuple[Session, TestClient]:
    session = begin(folder, POSTS, **settings)
    return session, client_of(session)


@contextmanager
def served(session: Session, learns: bool = False, port: int = 0) -> Iterator[str]:
    """The address of a server on the session, in a thread."""
    access = AccessSettings(stop_seconds=0)
    desk, made, begun = Desk(session, access, learns), bind("127.0.0.1", port), threading.Event()
    server = Server(desk, build_app(desk, hosts_of(made, "127.0.0.1", access)), begun.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [made]}, daemon=True)
    thread.start()
    assert begun.wait(30)
    try:
        yield url_of(made)
    finally:
        server.should_exit = True
        thread.join(30)
        desk.join(10)
        made.close()
