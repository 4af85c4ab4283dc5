"""The folder of a labelling session, read as a corpus: sentences, and what the log says of them.

Read are the sentences that may be learnt. The folder `held-back` in it stands for those that are only scored on.
`sentences.jsonl` is our own JSONL with three fields more: `id`, `held_back`, and `like`, the id of an earlier sentence
that is nearly the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acclimate.data.answer_log import LogContent, read_log
from acclimate.data.answers import Guide, State, tags_of_answers
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.source import RawSentence, ReadingLog, Source
from acclimate.data.writers.shared import points_at_words
from acclimate.layout import ANSWERS, HELD_BACK, LABELLING, SENTENCES

_ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Stored:
    """A sentence of a session. `like`: the earlier sentence that is nearly the same; None where there is none."""

    id: str
    sentence: Sentence
    held_back: bool = False
    like: str | None = None


@dataclass(frozen=True)
class SessionContent:
    """All that stands in the folder of a session."""

    begun_with: Mapping[str, Any]  # the settings that it was begun with
    sentences: dict[str, Stored]
    state: State
    log: LogContent

    def corpus(self, held_back: bool = False, annotator: str | None = None) -> Corpus:
        """The sentences that somebody labelled, or this annotator did. Those held back are complete ones alone."""
        return corpus_of(self.sentences, self.state, held_back, annotator)


def id_of(words: tuple[str, ...], position: int) -> str:
    """The identifier of a sentence: of its words and of its position in the text."""
    return hashlib.sha256(repr((position, words)).encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]


def corpus_of(
    sentences: Mapping[str, Stored], state: State, held_back: bool, annotator: str | None = None, name: str = "labelled"
) -> Corpus:
    """The labelled sentences of a state, in the order of the text. Other labels than the session's may be hidden."""
    labels = state.guide.labels
    chosen: dict[str, Sentence] = {}
    for identifier in state.answered:
        stored = sentences[identifier]
        answers = [each for each in state.answers(identifier) if annotator in (None, each.annotator)]
        if held_back:  # what is scored on must be known whole
            answers = [answer for answer in answers if answer.status == "done"]
        tags = tags_of_answers(answers, len(stored.sentence), labels) if stored.held_back == held_back else None
        if tags is not None:
            chosen[identifier] = stored.sentence.with_tags(tags)
    if len(chosen) > 1:
        order = {identifier: number for number, identifier in enumerate(sentences)}
        chosen = dict(sorted(chosen.items(), key=lambda item: order[item[0]]))
    return Corpus(tuple(chosen.values()), name, annotates=tuple(sorted(labels)))


def lines_of_sentences(stored: Iterable[Stored]) -> Iterator[bytes]:
    """The lines of `sentences.jsonl`. Of a longer text each sentence keeps the stretch that it covers."""
    for one in stored:
        sentence = one.sentence
        record: dict[str, Any] = {"id": one.id, "words": list(sentence.words)}
        if points_at_words(sentence) and sentence.text is not None and sentence.offsets:
            first, last = sentence.offsets[0][0], sentence.offsets[-1][1]
            record["text"] = sentence.text[first:last]
            record["offsets"] = [[start - first, end - first] for start, end in sentence.offsets]
        if sentence.document is not None:
            record["document"] = sentence.document
        more = {"held_back": one.held_back, "like": one.like}
        yield json.dumps({**record, **{name: value for name, value in more.items() if value}}).encode() + b"\n"


def read_session(folder: Path) -> SessionContent:
    """The content of a session's folder, without changing it."""
    begun_with = _begun_with(folder)
    sentences = {one.id: one for one in _stored_sentences(folder / SENTENCES)}
    log = read_log(folder / ANSWERS)
    state = State(Guide.of(begun_with["guide"]))
    for entry in log.entries:
        state.apply(entry.number, entry.event)
    unknown = [identifier for identifier in state.answered if identifier not in sentences]
    if unknown:
        problem = f"the log answers the sentence {unknown[0]}, which {SENTENCES} has not. Do both belong together?"
        raise InputError(problem, file=folder / ANSWERS)
    return SessionContent(begun_with, sentences, state, log)


def _begun_with(folder: Path) -> dict[str, Any]:
    file = folder / LABELLING
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return {**found, "guide": found["guide"]}
    except FileNotFoundError:
        raise InputError(
            "this folder holds no session of labelling. Begin one: acclimate label.", file=folder
        ) from None
    except (ValueError, KeyError, TypeError) as failure:
        raise InputError(f"damaged: it does not say what the session was begun with ({failure}).", file=file) from None


def _stored_sentences(file: Path) -> Iterator[Stored]:
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                yield _stored(line, Place(str(file), number))
    except FileNotFoundError:
        raise InputError("there is no such file, which holds the sentences of the session.", file=file) from None


def _stored(line: bytes, place: Place) -> Stored:
    try:
        found = json.loads(line)
        offsets = found.get("offsets")
        words, pairs = tuple(found["words"]), None if offsets is None else tuple((a, b) for a, b in offsets)
        sentence = Sentence(words, None, found.get("text"), pairs, place, found.get("document"))
        return Stored(found["id"], sentence, bool(found.get("held_back")), found.get("like"))
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        problem = f"damaged: no sentence of a session ({failure}). Bring back a copy of the file."
        raise InputError(problem, place=place) from None


def is_session(folder: Path) -> bool:
    """Whether a folder is that of a session, or stands for the sentences held back in one."""
    return (folder / LABELLING).is_file()


def read_labelling(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    """The labelled sentences of a session; of its folder `held-back` those that are only scored on."""
    folder, held_back = source.path, source.path.name == HELD_BACK and not (source.path / SENTENCES).exists()
    content = read_session(folder.parent if held_back else folder)
    if content.log.torn:
        log.count("answer was cut off while it was written, and is left out: it was never acknowledged")
    log.kind, log.annotates = "spans", tuple(sorted(content.state.guide.labels))
    corpus = content.corpus(held_back)
    if not len(corpus):
        kind = "held back and labelled as a whole" if held_back else "labelled"
        raise InputError(f"no sentence is {kind} here yet. Label some: acclimate label.", file=source.name)
    for one in corpus:
        lines = [one.place.line or 0] * len(one)
        yield RawSentence(one.words, one.tags, text=one.text, offsets=one.offsets, document=one.document, lines=lines)
