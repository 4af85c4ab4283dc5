"""A session on a server: what the page asks for, as JSON holds it, and the learner that is looked after meanwhile.

Every method may wait for the disk or for the session's lock, so none is called in the event loop.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from acclimate.data.answers import Answer, Guide
from acclimate.data.problems import InputError
from acclimate.labelling.learning import Learner, Status, last_order
from acclimate.labelling.queue import Item, Place, Queue
from acclimate.labelling.session import Conflict, Session
from acclimate.layout import LABELLING
from acclimate.serving.settings import AccessSettings

log = logging.getLogger("acclimate.labelling")
Fields = dict[str, Any]
_PAUSE = 0.3  # seconds between two looks at the learner
_AROUND = 6  # words on each side of a place that is listed


class Desk:
    """A session with its queue and, unless `learns` is false, its learner."""

    def __init__(self, session: Session, access: AccessSettings, learns: bool = True) -> None:
        self.session, self.access, self.queue = session, access, Queue(session, last_order(session))
        self.learner = Learner(session, self.queue) if learns else None
        self.is_stopping = False
        self._status = Status("waiting", 0)
        self._ends = threading.Event()
        self._keeper = threading.Thread(target=self._look, name="learner", daemon=True)
        self._found: tuple[int, dict[Any, Any]] = (-1, {})  # what was counted, at which number of the log

    def start(self) -> None:
        """Have the index of words ready before anybody asks, and begin to learn."""
        self.queue.search("a", 1)
        self.queue.elsewhere(("a",), "")
        if self.learner is not None:
            self._keeper.start()

    def begin_to_stop(self) -> None:
        self.is_stopping = True
        self._ends.set()

    def abandon(self) -> None:
        """There is nothing to give up: an answer that has come is written."""

    def join(self, seconds: float) -> bool:
        """End the learning that is under way. True: no thread is left."""
        self._ends.set()
        if self._keeper.is_alive():
            self._keeper.join(seconds)
        if self.learner is not None:
            self.learner.stop()
        return not self._keeper.is_alive()

    def counted(self, route: str, method: str, status: int, seconds: float) -> None:
        """Nobody counts requests here."""

    def begin(self, annotator: str) -> Fields:
        """What the page needs at its start."""
        return {"session": self.identity, "name": self.session.name, **self._guide(), **self.progress(annotator)}

    @property
    def identity(self) -> str:
        """Tells this session from others that a browser has seen on this address."""
        file = (self.session.folder / LABELLING).resolve()
        return hashlib.sha256(f"{file} {file.stat().st_mtime_ns}".encode()).hexdigest()[:16]

    def next(self, annotator: str, show: str | None = None) -> Fields:
        """The sentence on the screen, or the one that shall be there, and the one after it."""
        with self.session.lock:
            shown = show and self._known(show)
            item = self.queue.show(shown, annotator) if shown else self.queue.current(annotator)
            ahead = self.queue.ahead(annotator)
            return {"item": item and item_fields(item), "ahead": ahead and item_fields(ahead)}

    def answer(self, answers: Sequence[Answer], show: str | None = None) -> Fields:
        """Save them; when this returns, they are on the disk. An answer that came twice is saved once."""
        annotator = answers[0].annotator
        with self.session.lock:
            if show is not None:
                self._known(show)
            if all(self._is_there(each) for each in answers):
                versions = {each.sentence: self.session.version(each.sentence, annotator) for each in answers}
            else:
                versions = self.session.answer(*answers)
            for each in answers:
                if each.status == "part":  # somebody looked at it, and goes on
                    self.queue.put_off(each.sentence, annotator)
            return {"versions": versions, **self.next(annotator, show)}

    def undo(self, annotator: str) -> Fields:
        """Take a step back, and show the sentence that it was about."""
        return self._changed(self.session.undo, annotator, shows=True)

    def redo(self, annotator: str) -> Fields:
        """Do it again, and go on."""
        return self._changed(self.session.redo, annotator, shows=False)

    def search(self, text: str, annotator: str) -> Fields:
        """Sentences that hold a text, with what the annotator answered."""
        found = self.queue.search(text)
        with self.session.lock:
            return {"hits": [self._hit(each, annotator) for each in found]}

    def elsewhere(self, words: Sequence[str], annotator: str) -> Fields:
        """Other places of these words, each with the words around it."""
        return {"places": [self._place(each) for each in self.queue.elsewhere(words, annotator)]}

    def label_elsewhere(self, words: Sequence[str], label: str, places: Sequence[Place], annotator: str) -> Fields:
        """Label them as one step. Places that were decided meanwhile are left as they are."""
        with self.session.lock:
            free = set(self.queue.elsewhere(words, annotator, most=len(self.session.sentences) + len(places)))
            still = [each for each in places if each in free]
            changed = self.queue.label_elsewhere(words, label, annotator, still)
            return {"sentences": changed, "places": len(still), "left": len(places) - len(still)}

    def change_guide(self, guide: Guide, annotator: str, seen: int) -> Fields:
        self.session.change_guide(guide, annotator, seen)
        return self._guide()

    def corpus(self, format: str, held_back: bool) -> bytes:
        """The labelled sentences as a file."""
        with tempfile.TemporaryDirectory() as folder:
            (file,) = self.session.write(Path(folder) / f"labelled.{format}", format, held_back)
            return file.read_bytes()

    def progress(self, annotator: str, sentence: str | None = None) -> Fields:
        """How far it is, what was learnt, and how well annotators agree."""
        session, status = self.session, self._status
        with session.lock:
            names = sorted({*session.state.annotators, annotator} - {""})
            found = {
                "number": session.state.number,
                "guideVersion": session.state.guide_version,
                "mine": self._once(("progress", annotator), lambda: session.progress(annotator).as_dict()),
                "all": self._once(("progress",), lambda: session.progress().as_dict()),
                "annotators": names,
                "agreement": [
                    self._agreement(annotator, other) for other in names if other != annotator and annotator in names
                ],
                "rounds": [_told(each) for each in session.state.rounds],
                "round": self.queue.order.round,
                "learner": _learner(status, self.learner is not None),
            }
            if sentence is not None:
                found["version"] = session.version(self._known(sentence), annotator)
        return found

    def _look(self) -> None:
        """Look after the learner whenever an answer came, and while it learns."""
        assert self.learner is not None
        number = -1
        while not self._ends.wait(_PAUSE):
            if number != self.session.state.number or self._status.state == "learning":
                number = self.session.state.number
                try:
                    self._status = self.learner.look()
                except Exception as failure:  # answers must go on being saved, whatever befalls the learner
                    log.error("learning failed", exc_info=failure)
                    self._status = Status("failed", 0, self._status.facts, f"{type(failure).__name__}: {failure}")

    def _changed(self, step: Callable[[str], list[str]], annotator: str, shows: bool) -> Fields:
        with self.session.lock:
            guide_version = self.session.state.guide_version
            number = self.session.state.number
            sentences = step(annotator)
            is_changed = self.session.state.number > number
            shown = {} if guide_version == self.session.state.guide_version else self._guide()
            return {
                "isChanged": is_changed,
                "sentences": sentences,
                **shown,
                **self.next(annotator, sentences[0] if shows and len(sentences) == 1 else None),
            }

    def _is_there(self, answer: Answer) -> bool:
        """Whether this very answer is saved already: a page sends it again if it never heard that it was."""
        saved = self.session.state.answer(answer.sentence, answer.annotator)
        return (
            saved is not None
            and saved.seen == answer.seen
            and all(
                getattr(saved, name) == getattr(answer, name)
                for name in ("status", "spans", "rejected", "open", "note", "seconds")
            )
        )

    def _known(self, sentence: str) -> str:
        if sentence not in self.session.sentences:
            raise InputError(f"this session has no sentence {sentence!r}.")
        return sentence

    def _guide(self) -> Fields:
        with self.session.lock:
            return {"guide": self.session.guide.as_dict(), "guideVersion": self.session.state.guide_version}

    def _hit(self, identifier: str, annotator: str) -> Fields:
        answer = self.session.state.answer(identifier, annotator)
        words = self.session.sentences[identifier].sentence.words
        return {"id": identifier, "words": list(words), "status": None if answer is None else answer.status}

    def _place(self, place: Place) -> Fields:
        words = self.session.sentences[place.sentence].sentence.words
        before, after = words[max(0, place.start - _AROUND) : place.start], words[place.end : place.end + _AROUND]
        return {
            "place": [place.sentence, place.start, place.end],
            "before": list(before),
            "words": list(words[place.start : place.end]),
            "after": list(after),
        }

    def _agreement(self, annotator: str, other: str) -> Fields:
        pair = tuple(sorted((annotator, other)))
        found = self._once(("agreement", *pair), lambda: self.session.agreement(*pair).as_dict())
        return {"with": other, **found}

    def _once(self, key: tuple[str, ...], count: Callable[[], Fields]) -> Fields:
        """What was counted at this number of the log already, or a new count."""
        if self._found[0] != self.session.state.number:
            self._found = self.session.state.number, {}
        if key not in self._found[1]:
            self._found[1][key] = count()
        found: Fields = self._found[1][key]
        return found


def conflict(failure: Conflict) -> Fields:
    """What another tab has saved in the meantime."""
    current = failure.current
    return {"version": failure.version, "current": None if current is None else current.as_dict()}


def item_fields(item: Item) -> Fields:
    """A sentence to show."""
    sentence = item.sentence
    return {
        "id": item.id,
        "words": list(sentence.words),
        "gaps": gaps(sentence.text, sentence.offsets, len(sentence)),
        "version": item.version,
        "answer": None if item.answer is None else item.answer.as_dict(),
        "suggestions": [[span.start, span.end, span.label, round(span.score, 4)] for span in item.suggestions],
        "doubts": [round(each, 2) for each in item.words],
        "heldBack": item.held_back,
        "round": item.round,
    }


def gaps(text: str | None, offsets: Sequence[tuple[int, int]] | None, length: int) -> list[str]:
    """What stands between a word and the next one."""
    if text is None or offsets is None:
        return [" "] * max(0, length - 1)
    return [text[one[1] : other[0]] for one, other in pairwise(offsets)]


def _told(event: Any) -> Fields:
    return {name: event.get(name) for name in ("number", "answered", "learnt", "held_back", "expected", "remark")}


def _learner(status: Status, learns: bool) -> Fields:
    return {
        "state": status.state if learns else "off",
        "answersLeft": status.answers_left,
        "problem": status.problem,
        "facts": None if status.facts is None else asdict(status.facts),
    }
