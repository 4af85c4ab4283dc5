"""The page in one file, for somebody who has nothing installed, and the way back of what was labelled in it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from acclimate.data.answers import Answer
from acclimate.data.problems import InputError
from acclimate.data.writers.shared import atomic_file
from acclimate.labelling.desk import SCRIPTS, STYLE, TEMPLATE, item_fields
from acclimate.labelling.learning import last_order
from acclimate.labelling.queue import Queue
from acclimate.labelling.rounds import finished_rounds, learn_round
from acclimate.labelling.session import Session
from acclimate.serving.application import page_of, text_of

_NOBODY = ""  # the annotator for whom the page's order is made
_STEP = 1_000  # answers that are taken as one step


def exported(session: Session, file: Path, most: int) -> int:
    """Write the page with the sentences that come next, held-back ones among them. Returns how many."""
    if not finished_rounds(session.folder):
        learn_round(session.folder, 1)
    queue = Queue(session, last_order(session))
    items = [item_fields(queue.item(each, _NOBODY)) for each in queue.mixed(most)]
    if not items:
        raise InputError("no sentence is left to label.", file=session.folder)
    content = {
        "session": hashlib.sha256("".join(item["id"] for item in items).encode()).hexdigest()[:16],
        "name": session.name,
        "guide": session.guide.as_dict(),
        "round": queue.order.round,
        "items": items,
    }
    with atomic_file(file) as written:
        written.write(_whole_page(session.name, content).encode())
    return len(items)


def _whole_page(name: str, content: Any) -> str:
    style, script = text_of(STYLE), text_of(SCRIPTS)
    return page_of(
        TEMPLATE,
        alone=True,
        name=name,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        content=Markup(json.dumps(content).replace("<", "\\u003c")),
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@dataclass(frozen=True)
class Taken:
    """What came back: answers that are new, that stood here already, and that lost against another one here."""

    new: int
    known: int
    kept: int
    annotators: tuple[str, ...]


def imported(session: Session, file: Path) -> Taken:
    """Take the answers in a downloaded file. What the same person answered in the session itself stays."""
    new: list[Answer] = []
    known = kept = 0
    for answer in _answers(session, file):
        saved = session.state.answer(answer.sentence, answer.annotator)
        if saved is None:
            new.append(replace(answer, seen=session.version(answer.sentence, answer.annotator)))
        elif replace(saved, seen=0, seconds=0.0) == replace(answer, seen=0, seconds=0.0):
            known += 1
        else:
            kept += 1
    by_annotator: dict[str, list[Answer]] = {}
    for answer in new:
        by_annotator.setdefault(answer.annotator, []).append(answer)
    for answers in by_annotator.values():
        for first in range(0, len(answers), _STEP):
            session.answer(*answers[first : first + _STEP])
    return Taken(len(new), known, kept, tuple(sorted(by_annotator)))


def _answers(session: Session, file: Path) -> Iterator[Answer]:
    """The answers in a file, one a sentence and annotator: all are checked before one is taken."""
    found: dict[tuple[str, str], Answer] = {}
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                answer = _answer(session, line, file, number)
                found[answer.sentence, answer.annotator] = answer
    yield from found.values()


def _answer(session: Session, line: bytes, file: Path, number: int) -> Answer:
    try:
        fields = json.loads(line.decode("utf-8"))
        answer = Answer.of(fields["answer"], str(fields["annotator"]))
        words = tuple(fields["words"])
    except (ValueError, KeyError, TypeError, RecursionError) as failure:
        problem = f"no answer of a page for labelling ({failure}). Download the file from the page again."
        raise InputError(problem, file=file, line=number) from None
    stored = session.sentences.get(answer.sentence)
    if stored is None or stored.sentence.words != words:
        problem = "this session does not have this sentence. Was the page made from another one?"
        raise InputError(problem, file=file, line=number, text=" ".join(map(str, words))[:80])
    return answer
