"""A small session, and events to put into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acclimate.data.answers import Answer
from acclimate.data.corpus import Corpus
from acclimate.data.schemes import Span
from acclimate.labelling.session import Session
from acclimate.labelling.settings import SessionSettings
from acclimate.settings import complete

TEXT = Corpus.of_texts(
    [
        ["Anna", "saw", "Oslo"],
        ["Rome", "fell"],
        ["it", "rained"],
        ["Bob", "left", "Oslo", "for", "Rome"],
        ["oslo", "is", "cold"],
        ["New", "York", "and", "new", "york"],
        ["nothing", "here"],
        ["the", "end"],
    ],
    name="posts",
)
LABELS = ("LOC", "PER")


def begin(folder: Path, text: Corpus = TEXT, labels: tuple[str, ...] = LABELS, **settings: Any) -> Session:
    given = complete(SessionSettings, {"held_back": 0.0, **settings})
    return Session.begin(folder, text, given, labels=labels)


def ids(session: Session) -> list[str]:
    return list(session.sentences)


def span(start: int, end: int, label: str = "LOC") -> Span:
    return Span(start, end, label)


def answer(session: Session, place: int, *spans: Span, by: str = "anna", **fields: Any) -> Answer:
    """To the sentence as it is now."""
    identifier = ids(session)[place]
    given = {"spans": tuple(spans), "seen": session.version(identifier, by), **fields}
    return Answer(identifier, by, **given)


def tags(session: Session, **which: Any) -> list[str]:
    """The labelled sentences, a line each."""
    return [" ".join(sentence.tags or ()) for sentence in session.corpus(**which)]
