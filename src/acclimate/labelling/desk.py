"""A session on a server: the routes of its page, what they answer, and the learner that is looked after meanwhile.

Every request but those for the page is a POST of JSON. It may wait for the disk or for the session's lock, so none is
answered in the event loop.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from starlette.responses import Response

from acclimate.data.answers import Answer
from acclimate.data.problems import InputError
from acclimate.data.writing import write_corpus
from acclimate.labelling import requests
from acclimate.labelling.learning import Learner, Status, last_order
from acclimate.labelling.queue import Item, Place, Queue
from acclimate.labelling.session import Conflict, Session
from acclimate.layout import LABELLING
from acclimate.serving.application import PAGE_STYLE, Application, Operation, Served, page_operations
from acclimate.serving.bodies import Refusal
from acclimate.serving.settings import AccessSettings
from acclimate.settings import UsageError

log = logging.getLogger("acclimate.labelling")
Fields = dict[str, Any]
_PAUSE = 0.3  # seconds between two looks at the learner
_AROUND = 6  # words on each side of a place that is listed
_OF_A_ROUND = ("number", "answered", "learnt", "held_back", "expected", "remark")


class Desk(Served):
    """A session with its queue and, unless `learns` is false, its learner."""

    def __init__(self, session: Session, access: AccessSettings, learns: bool = True) -> None:
        super().__init__(access)
        self.session, self.queue = session, Queue(session, last_order(session))
        self.learner = Learner(session, self.queue) if learns else None
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

    def join(self, seconds: float) -> bool:
        """End the learning that is under way. True: no thread is left."""
        self._ends.set()
        if self._keeper.is_alive():
            self._keeper.join(seconds)
        if self.learner is not None:
            self.learner.stop()
        return not self._keeper.is_alive()

    def refusal_of(self, failure: Exception) -> Refusal | None:
        if isinstance(failure, Conflict):
            current = None if failure.current is None else failure.current.as_dict()
            return Refusal(409, "conflict", str(failure), more={"version": failure.version, "current": current})
        if isinstance(failure, InputError | UsageError):
            return Refusal(422, "invalid_request", str(failure))
        if isinstance(failure, OSError):
            log.error("an answer was not saved", exc_info=failure)
            message = f"Nothing was saved: {failure.strerror or failure}. The page keeps the answer, and tries again."
            return Refusal(503, "not_saved", message, {"Retry-After": "2"})
        return None

    def begin(self, asked: requests.Asked) -> Fields:
        """What the page needs at its start."""
        progress = self.progress(requests.ProgressRequest(annotator=asked.annotator))
        return {"session": self.identity, "name": self.session.name, **self._guide(), **progress}

    @property
    def identity(self) -> str:
        """Tells this session from others that a browser has seen on this address."""
        file = (self.session.folder / LABELLING).resolve()
        return hashlib.sha256(f"{file} {file.stat().st_mtime_ns}".encode()).hexdigest()[:16]

    def next(self, asked: requests.NextRequest) -> Fields:
        """The sentence on the screen, or the one that shall be there, and the one after it."""
        return self._shown(asked.annotator, asked.show)

    def answer(self, asked: requests.AnswersRequest) -> Fields:
        """Save them; when this returns, they are on the disk. An answer that came twice is saved once."""
        answers, annotator = asked.read, asked.annotator
        with self.session.lock:
            if asked.show is not None:
                self._known(asked.show)
            if all(self._is_there(each) for each in answers):
                versions = {each.sentence: self.session.version(each.sentence, annotator) for each in answers}
            else:
                versions = self.session.answer(*answers)
            for each in answers:
                if each.status == "part":  # somebody looked at it, and goes on
                    self.queue.put_off(each.sentence, annotator)
            return {"versions": versions, **self._shown(annotator, asked.show)}

    def undo(self, asked: requests.Asked) -> Fields:
        """Take a step back, and show the sentence that it was about."""
        return self._step(self.session.undo, asked.annotator, shows=True)

    def redo(self, asked: requests.Asked) -> Fields:
        """Do it again, and go on."""
        return self._step(self.session.redo, asked.annotator, shows=False)

    def search(self, asked: requests.SearchRequest) -> Fields:
        """Sentences that hold a text, with what the annotator answered."""
        hits, found = [], self.queue.search(asked.text)
        with self.session.lock:
            for identifier in found:
                answer = self.session.state.answer(identifier, asked.annotator)
                words = self.session.sentences[identifier].sentence.words
                hits.append({"id": identifier, "words": words, "status": None if answer is None else answer.status})
        return {"hits": hits}

    def elsewhere(self, asked: requests.ElsewhereRequest) -> Fields:
        """Other places of these words, each with the words around it."""
        return {"places": [self._place(each) for each in self.queue.elsewhere(asked.words, asked.annotator)]}

    def label_elsewhere(self, asked: requests.LabelElsewhereRequest) -> Fields:
        """Label them as one step. Places that were decided meanwhile are left as they are."""
        wanted = [Place(*each) for each in asked.places]
        with self.session.lock:
            most = len(self.session.sentences) + len(wanted)
            free = set(self.queue.elsewhere(asked.words, asked.annotator, most))
            still = [each for each in wanted if each in free]
            changed = self.queue.label_places(still, asked.label, asked.annotator)
            return {"sentences": changed, "places": len(still), "left": len(wanted) - len(still)}

    def change_guide(self, asked: requests.GuideRequest) -> Fields:
        self.session.change_guide(asked.read, asked.annotator, asked.seen)
        return self._guide()

    def corpus(self, asked: requests.Asked) -> Response:
        """The labelled sentences as a file."""
        with tempfile.TemporaryDirectory() as folder:
            (file,) = write_corpus(self.session.corpus(), Path(folder) / "labelled.jsonl")
            return Response(file.read_bytes(), media_type="text/plain; charset=utf-8")

    def progress(self, asked: requests.ProgressRequest) -> Fields:
        """How far it is, what was learnt, and how well annotators agree. The page asks again and again."""
        session, status, annotator = self.session, self._status, asked.annotator
        self.queue.hear_of(annotator)
        with session.lock:
            names = sorted({*session.state.annotators, annotator})
            found = {
                "number": session.state.number,
                "guideVersion": session.state.guide_version,
                "mine": self._once(("progress", annotator), lambda: session.progress(annotator).as_dict()),
                "all": self._once(("progress",), lambda: session.progress().as_dict()),
                "annotators": names,
                "agreement": [self._agreement(annotator, other) for other in names if other != annotator],
                "rounds": [{name: each.get(name) for name in _OF_A_ROUND} for each in session.state.rounds],
                "round": self.queue.order.round,
                "learner": {
                    "state": "off" if self.learner is None else status.state,
                    "answersLeft": status.answers_left,
                    "problem": status.problem,
                },
            }
            if asked.sentence is not None:
                found["version"] = session.version(self._known(asked.sentence), annotator)
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
                    self._status = Status("failed", 0, f"{type(failure).__name__}: {failure}")

    def _shown(self, annotator: str, show: str | None) -> Fields:
        self.queue.hear_of(annotator)
        with self.session.lock:
            item = self.queue.show(self._known(show), annotator) if show else self.queue.current(annotator)
            ahead = self.queue.ahead(annotator)
            return {"item": item and item_fields(item), "ahead": ahead and item_fields(ahead)}

    def _step(self, step: Callable[[str], list[str]], annotator: str, shows: bool) -> Fields:
        with self.session.lock:
            state = self.session.state
            number, guide_version = state.number, state.guide_version
            sentences = step(annotator)
            return {
                "isChanged": state.number > number,
                "sentences": sentences,
                **({} if guide_version == state.guide_version else self._guide()),
                **self._shown(annotator, sentences[0] if shows and len(sentences) == 1 else None),
            }

    def _is_there(self, answer: Answer) -> bool:
        """Whether this very answer is saved already: a page sends it again if it never heard that it was."""
        return self.session.state.answer(answer.sentence, answer.annotator) == answer

    def _known(self, sentence: str) -> str:
        if sentence not in self.session.sentences:
            raise InputError(f"this session has no sentence {sentence!r}.")
        return sentence

    def _guide(self) -> Fields:
        with self.session.lock:
            return {"guide": self.session.guide.as_dict(), "guideVersion": self.session.state.guide_version}

    def _place(self, place: Place) -> Fields:
        words = self.session.sentences[place.sentence].sentence.words
        return {
            "place": [place.sentence, place.start, place.end],
            "before": words[max(0, place.start - _AROUND) : place.start],
            "words": words[place.start : place.end],
            "after": words[place.end : place.end + _AROUND],
        }

    def _agreement(self, annotator: str, other: str) -> Fields:
        pair = tuple(sorted((annotator, other)))
        return {"with": other, **self._once(("agreement", *pair), lambda: self.session.agreement(*pair).as_dict())}

    def _once(self, key: tuple[str, ...], count: Callable[[], Fields]) -> Fields:
        """What was counted at this number of the log already, or a new count."""
        if self._found[0] != self.session.state.number:
            self._found = self.session.state.number, {}
        if key not in self._found[1]:
            self._found[1][key] = count()
        found: Fields = self._found[1][key]
        return found


def item_fields(item: Item) -> Fields:
    """A sentence to show. `gaps` are what stands between a word and the next one."""
    sentence = item.sentence
    gaps = [" "] * (len(sentence) - 1)
    if sentence.text is not None and sentence.offsets is not None:
        gaps = [sentence.text[one[1] : other[0]] for one, other in pairwise(sentence.offsets)]
    return {
        "id": item.id,
        "words": list(sentence.words),
        "gaps": gaps,
        "version": item.version,
        "answer": None if item.answer is None else item.answer.as_dict(),
        "suggestions": [[span.start, span.end, span.label, round(span.score, 4)] for span in item.suggestions],
        "doubts": [round(each, 2) for each in item.words],
        "heldBack": item.held_back,
        "round": item.round,
    }


_MODULES = ("spans", "server", "alone", "panels", "progress", "drawing", "editor", "label")
SCRIPTS = ("serving/page/dom.js", *(f"labelling/page/{name}.js" for name in _MODULES))
STYLE = (*PAGE_STYLE, "labelling/page/label.css")
TEMPLATE = "labelling/page/label.html.j2"
OPERATIONS = (
    *page_operations(TEMPLATE, STYLE, SCRIPTS),
    Operation("/v1/begin", Desk.begin, requests.Asked),
    Operation("/v1/next", Desk.next, requests.NextRequest),
    Operation("/v1/answers", Desk.answer, requests.AnswersRequest),
    Operation("/v1/undo", Desk.undo, requests.Asked),
    Operation("/v1/redo", Desk.redo, requests.Asked),
    Operation("/v1/search", Desk.search, requests.SearchRequest),
    Operation("/v1/elsewhere", Desk.elsewhere, requests.ElsewhereRequest),
    Operation("/v1/elsewhere/label", Desk.label_elsewhere, requests.LabelElsewhereRequest),
    Operation("/v1/guide", Desk.change_guide, requests.GuideRequest),
    Operation("/v1/progress", Desk.progress, requests.ProgressRequest),
    Operation("/v1/corpus", Desk.corpus, requests.Asked),
)


def build_app(desk: Desk, hosts: Sequence[str] = (), token: str | None = None) -> Application:
    """The whole application. `hosts` are the names that it answers to, any where there are none."""
    return Application(desk, OPERATIONS, hosts, token)
