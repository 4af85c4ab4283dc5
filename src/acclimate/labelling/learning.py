"""Learning in the background: a process of its own for each round, begun after so many answers.

A round reads the session's folder as it is, and writes a folder of its own (`rounds`). Nobody waits for it. If it
fails, the session goes on in the order that it had, and the learner says why; the next answers begin another one.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

from acclimate.data.processes import CONTEXT, end_with_parent
from acclimate.labelling.queue import Order, Queue
from acclimate.labelling.rounds import finished_rounds, learn_round, prune, read_facts, read_order
from acclimate.labelling.session import Session
from acclimate.layout import ROUNDS
from acclimate.spelling import describe_failure

_PROBLEM = "problem.txt"
_CALMER = 10  # how much less a round's process is served than the page


@dataclass(frozen=True)
class Status:
    """What the learner does. `problem` says why the last round failed."""

    state: Literal["waiting", "learning", "failed"]
    answers_left: int  # until the next round begins
    problem: str = ""


class Learner:
    """Begins rounds of learning and collects what they give. Call `look` now and then; it never waits."""

    def __init__(self, session: Session, queue: Queue) -> None:
        """Take the order of the last round that is over, if there is one."""
        self.session, self.queue = session, queue
        self._process: BaseProcess | None = None
        self._number = 0  # of the round under way
        self._problem = ""
        self._lock = threading.Lock()
        self._tried = -1  # answers when the last round began; -1: never
        self._collect()

    def look(self) -> Status:
        """Collect a round that is over, and begin one if it is due."""
        with self._lock:
            if self._process is not None and not self._process.is_alive():
                self._end()
            progress = self.session.progress()
            answers = progress.done + progress.part
            due = self._tried + self.session.settings.learning.every if self._tried >= 0 else 0
            if self._process is None and answers >= due:
                self._begin(answers)
            left = max(0, self._tried + self.session.settings.learning.every - answers)
            if self._process is not None:
                return Status("learning", left)
            return Status("failed" if self._problem else "waiting", left, self._problem)

    def stop(self) -> None:
        """End the round under way. What it has learnt is lost, no answer is."""
        with self._lock:
            if self._process is not None:
                self._process.terminate()
                self._process.join()
                self._process = None

    def _begin(self, answers: int) -> None:
        self._tried, self._problem = answers, ""
        self._number = max([0, *finished_rounds(self.session.folder)]) + 1
        self._process = CONTEXT.Process(  # type: ignore[attr-defined]
            target=_learn, args=(str(self.session.folder), self._number), daemon=True
        )
        self._process.start()

    def _end(self) -> None:
        assert self._process is not None
        code, self._process = self._process.exitcode, None
        if self._number in finished_rounds(self.session.folder):
            self._collect()
            return
        file = self.session.folder / ROUNDS / _PROBLEM
        output = ""
        with suppress(OSError):
            output = file.read_text(encoding="utf-8", errors="replace")
            file.unlink()
        self._problem = output or f"the process that learnt was ended from outside (exit code {code})"

    def _collect(self) -> None:
        """Take the order of the last round on the disk, and note rounds that the log does not know yet."""
        folder, known = self.session.folder, {each["number"] for each in self.session.state.rounds}
        finished = finished_rounds(folder)
        for number in finished:
            if number not in known:
                self.session.note_round(asdict(read_facts(folder, number)))
        if finished:
            self._tried = max(self._tried, read_facts(folder, finished[-1]).answered)
            self.queue.take(read_order(folder, finished[-1]))
            prune(folder)


def last_order(session: Session) -> Order:
    """The order of the last round, if there is one."""
    finished = finished_rounds(session.folder)
    return read_order(session.folder, finished[-1]) if finished else Order()


def _learn(folder: str, number: int) -> None:
    """A round in a process of its own, which ends with the one that began it."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    with suppress(OSError, AttributeError):
        os.nice(_CALMER)
    try:
        learn_round(Path(folder), number)
    except Exception as failure:
        place = Path(folder) / ROUNDS / _PROBLEM
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"{type(failure).__name__}: {describe_failure(failure)}", encoding="utf-8")
        sys.exit(1)
