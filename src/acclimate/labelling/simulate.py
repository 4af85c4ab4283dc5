"""The same loop with an oracle in the place of the person: what labelled sentences would have brought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from acclimate.data.answers import Answer
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.readers.labelling import id_of
from acclimate.data.schemes import ANY_LABEL, Span, hidden_labels
from acclimate.evaluation.counts import require_gold
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.labelling.queue import Queue
from acclimate.labelling.rounds import Round, learn_round, prune, start_tagger
from acclimate.labelling.session import NO_START, Session
from acclimate.labelling.settings import SessionSettings
from acclimate.model.tagger import Tagger

ORACLE = "oracle"
Tell = Callable[[str], Any]


@dataclass(frozen=True)
class Point:
    """What so many labelled sentences brought: F1 on the test, and on what was held back. Fractions; None: none yet."""

    sentences: int  # that were labelled, those held back included
    words: int  # that were read for it
    spans: int
    f1: float | None
    held_back: float | None = None
    seconds: float = 0.0  # of learning and ordering

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def simulate(
    folder: str | Path,
    gold: Corpus,
    settings: SessionSettings | None = None,
    *,
    start: str = NO_START,
    labels: Sequence[str] = (),
    test: Corpus | None = None,
    at: Sequence[int] = (),
    answers: int = 100,
    tell: Tell = lambda line: None,
) -> list[Point]:
    """Label `gold` by its own tags, in the order in which a person would have seen its sentences.

    folder: of a new session. at: the numbers of labelled sentences after which the tagger learns; by default every
    `learning.every` up to `answers`. test: scored after each round, and learnt by nobody. The first point is that of
    the tagger to start from. The same seed gives the same points.
    """
    settings = settings or SessionSettings()
    require_gold(gold)
    names = tuple(labels) or gold.labels.names
    if gold.kind == "plain" or not names or any(sentence.tags is None for sentence in gold):
        raise InputError(f"{gold.name}: an oracle needs sentences whose spans are all labelled.")
    every = settings.learning.every
    rounds = sorted(set(at)) or list(range(every, answers + 1, every))
    identified = {id_of(sentence.words, place): sentence for place, sentence in enumerate(gold)}
    with Session.begin(folder, gold, settings, start=start, labels=names) as session:
        queue = Queue(session)
        points = [_point(session, None, test, start)]
        begun = learn_round(session.folder, 1, rounds[0] if rounds else None)
        for number, (wanted, following) in enumerate(zip(rounds, [*rounds[1:], rounds[-1]], strict=True), start=2):
            _take(session, queue, begun)
            if not _label(session, queue, identified, wanted):
                tell(f"no sentence is left to label: it ends with {session.progress().done:,}.")
                break
            begun = learn_round(session.folder, number, max(1, following - wanted))
            points.append(_point(session, begun, test, start))
            tell(describe(points[-1]))
        _take(session, queue, begun)
        return points


def describe(point: Point) -> str:
    """A point as a line for people."""
    test = "" if point.f1 is None else f", F1 {100 * point.f1:.2f}"
    held_back = "" if point.held_back is None else f", on what is held back {100 * point.held_back:.2f}"
    return f"{point.sentences:,} sentences, {point.words:,} words, {point.spans:,} spans{test}{held_back}"


def oracle(gold: Sentence, identifier: str, version: int, labels: Sequence[str]) -> Answer:
    """The answer that the gold tags give. What these leave open stays open."""
    tags = gold.tags or ()
    spans = tuple(span for span in gold.spans if span.label in labels)
    places = [place for place, tag in enumerate(tags) if {*labels, ANY_LABEL} & set(hidden_labels(tag))]
    open_spans = tuple(Span(place, place + 1, labels[0]) for place in places)
    return Answer(identifier, ORACLE, "done", spans, open=open_spans, seen=version)


def _label(session: Session, queue: Queue, gold: dict[str, Sentence], wanted: int) -> bool:
    """Answer until so many sentences are done; False if there are not so many."""
    done = session.progress().done
    while done < wanted:
        item = queue.current(ORACLE)
        if item is None:
            return False
        session.answer(oracle(gold[item.id], item.id, item.version, session.guide.labels))
        done += 1
    return True


def _take(session: Session, queue: Queue, begun: Round) -> None:
    session.note_round(asdict(begun.facts))
    queue.take(begun.order)
    prune(session.folder)


def _point(session: Session, begun: Round | None, test: Corpus | None, start: str) -> Point:
    """The first point is that of the start, which nothing was labelled for."""
    progress = session.progress()
    tagger = begun.tagger if begun is not None else None if start == NO_START else start_tagger(start)
    held_back = None if begun is None or begun.facts.held_back is None else float(begun.facts.held_back["f1"])
    point = Point(progress.done, progress.words, progress.spans, _f1(tagger, test, session.guide.labels), held_back)
    return point if begun is None else replace(point, seconds=begun.facts.seconds)


def _f1(tagger: Tagger | None, test: Corpus | None, labels: Sequence[str]) -> float | None:
    """Span F1 on the test: 0 without a tagger. Labels that the session does not have count on neither side."""
    if test is None:
        return None
    if tagger is None:
        return 0.0
    judged = replace(test, annotates=tuple(labels)) if test.annotates is None else test
    return score(judged, predict(tagger, test)).span.f1
