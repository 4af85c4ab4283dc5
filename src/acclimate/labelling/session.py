"""A session of labelling: its folder, the answers, who gave them, and the corpus that they make."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Self

import acclimate
from acclimate.data.answers import Answer, Guide
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.readers.labelling import SessionContent, Stored, corpus_of, id_of, lines_of_sentences, read_session
from acclimate.data.readers.source import check_characters
from acclimate.data.schemes import tags_from_spans
from acclimate.data.writers.shared import atomic_file
from acclimate.evaluation.agreement import AnnotatorAgreement, annotator_agreement
from acclimate.labelling.log import Log, sync_folder
from acclimate.labelling.settings import SessionSettings
from acclimate.layout import ANSWERS, HELD_BACK, LABELLING, SENTENCES
from acclimate.methods.acquisition.near_duplicates import first_alike
from acclimate.settings import UsageError, complete
from acclimate.spelling import argument, stderr_console

Warn = Callable[[str], Any]
_COLOURS = (
    *("#8dd3c7", "#ffed6f", "#bebada", "#fb8072", "#80b1d3"),
    *("#fdb462", "#b3de69", "#fccde5", "#ccebc5", "#d9d9d9"),
)
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_FURTHEST = ("done", "part", "flagged", "skipped")
NO_START = "none"  # in place of a tagger to start from


class Conflict(ValueError):
    """An answer to a version that is not there any more: it was changed in another tab. Nothing was written."""

    def __init__(self, what: str, version: int, current: Answer | Guide | None) -> None:
        self.version, self.current = version, current
        super().__init__(f"{what} was changed elsewhere since it was shown here. Look at the new version first.")


@dataclass(frozen=True)
class Progress:
    """How far one annotator is, or all together."""

    sentences: int  # that there are
    done: int
    part: int
    skipped: int
    flagged: int
    held_back: int  # of those done
    words: int  # of sentences that are done
    spans: int
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


class Session:
    """An open session. Use `begin` or `open`; `close` it, or use it in a `with`."""

    def __init__(self, folder: Path, content: SessionContent, log: Log) -> None:
        self.folder, self.state, self._log = folder, content.state, log
        self.sentences = content.sentences
        self.settings = complete(SessionSettings, content.begun_with["settings"], where=str(folder / LABELLING))
        self.start: str = content.begun_with["start"]
        self.name: str = content.begun_with["text"]
        self.lock = threading.RLock()

    @classmethod
    def begin(
        cls,
        folder: str | Path,
        text: Corpus,
        settings: SessionSettings | None = None,
        *,
        start: str = NO_START,
        labels: Sequence[str],
        warn: Warn | None = None,
    ) -> Session:
        """Make the folder of a session on a text, whose tags are dropped, and open it.

        start: the tagger that suggests and learns, by folder or name; `none` begins with a new one.
        labels: what is labelled. `change_guide` adds more.
        """
        folder, settings = Path(folder), settings or SessionSettings()
        if (folder / LABELLING).exists():
            raise UsageError(f"{folder} holds a session already. Open that one, or choose another {argument('out')}.")
        guide = coloured(Guide(tuple(labels)))
        check_guide(guide)
        stored = list(_stored(text, settings))
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(folder / SENTENCES) as file:
            file.writelines(lines_of_sentences(stored))
        _write_json(folder / HELD_BACK / LABELLING, {"part": HELD_BACK})
        begun_with = {"acclimate": acclimate.__version__, "text": text.name, "start": start, "guide": guide.as_dict()}
        _write_json(folder / LABELLING, {**begun_with, "settings": settings.model_dump(mode="json")})
        sync_folder(folder)
        return cls.open(folder, warn)

    @classmethod
    def open(cls, folder: str | Path, warn: Warn | None = None) -> Session:
        """Open the session in a folder, and go on where it stopped. `warn` hears of an answer that was cut off."""
        folder = Path(folder)
        if not (folder / LABELLING).is_file():
            raise InputError("this folder holds no session of labelling.", file=folder)
        log = Log(folder / ANSWERS, warn or stderr_console().print)  # which refuses damage and another server
        try:
            return cls(folder, read_session(folder), log)
        except BaseException:
            log.close()
            raise

    def close(self) -> None:
        with self.lock:
            self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def guide(self) -> Guide:
        return self.state.guide

    def version(self, sentence: str, annotator: str) -> int:
        """The version that an answer to this sentence must have seen."""
        return self.state.version(sentence, annotator)

    def answer(self, *answers: Answer) -> dict[str, int]:
        """Save answers of one annotator as one step, which one `undo` takes back. Returns the sentences' new versions.

        When this returns, they are on the disk. Raises `Conflict` if any sentence has another version than was seen.
        """
        with self.lock:
            if len({answer.annotator for answer in answers}) != 1:
                raise InputError("a step needs answers, and all by one annotator.")
            if len({answer.sentence for answer in answers}) != len(answers):
                raise InputError("a step answers each sentence once.")
            for answer in answers:
                self._check(answer)
            annotator = answers[0].annotator
            self._append({"kind": "answers", "annotator": annotator, "answers": [each.as_dict() for each in answers]})
            return {each.sentence: self.version(each.sentence, annotator) for each in answers}

    def undo(self, annotator: str) -> list[str]:
        """Take the annotator's last step back. Returns the sentences that changed; none where there is nothing."""
        return self._step("undo", annotator, self.state.undoable[annotator])

    def redo(self, annotator: str) -> list[str]:
        """Do the step again that was undone last."""
        return self._step("redo", annotator, self.state.redoable[annotator])

    def change_guide(self, guide: Guide, annotator: str, seen: int | None = None) -> None:
        """Change labels, colours and guidelines. Labels without a colour get one. A label that is in use must stay."""
        with self.lock:
            version = self.state.guide_version
            if seen not in (None, version):
                raise Conflict("The guide", version, self.guide)
            check_guide(coloured(guide))
            _check_name(annotator)
            if lost := sorted(self._used_labels() - set(guide.labels)):
                raise InputError(f"the label {lost[0]} is in use: relabel its spans before you remove it.")
            self._append({"kind": "guide", "annotator": annotator, **coloured(guide).as_dict()})

    def note_round(self, facts: Mapping[str, Any]) -> None:
        """Keep what a round of learning gave."""
        with self.lock:
            self._append({"kind": "round", **facts})

    def corpus(self, held_back: bool = False, annotator: str | None = None) -> Corpus:
        """The labelled sentences that may be learnt, or those that are only scored on; of one annotator, or of all.

        Words that nobody decided on are open. Where annotators differ, words are open, too.
        """
        with self.lock:
            return corpus_of(self.sentences, self.state, held_back, annotator, self.name)

    def progress(self, annotator: str | None = None) -> Progress:
        """How far an annotator is, or all together: a sentence then counts by its furthest answer."""
        with self.lock:
            best = []
            for identifier in self.state.answered:
                answers = [each for each in self.state.answers(identifier) if annotator in (None, each.annotator)]
                best += sorted(answers, key=lambda each: _FURTHEST.index(each.status))[:1]
            done = [answer for answer in best if answer.status == "done"]
            counts = {status: sum(one.status == status for one in best) for status in ("part", "skipped", "flagged")}
            seconds = self.state.seconds
            return Progress(
                sentences=len(self.sentences),
                done=len(done),
                held_back=sum(self.sentences[answer.sentence].held_back for answer in done),
                words=sum(len(self.sentences[answer.sentence].sentence) for answer in done),
                spans=sum(len(answer.spans) for answer in best if answer.is_labelled),
                seconds=sum(seconds.values()) if annotator is None else seconds.get(annotator, 0.0),
                **counts,
            )

    def agreement(self, one: str, other: str) -> AnnotatorAgreement:
        """How far two annotators agree on the sentences that both have done."""
        with self.lock:
            pairs = []
            for identifier in self.state.answered:
                answers = [self.state.answer(identifier, name) for name in (one, other)]
                length = len(self.sentences[identifier].sentence)
                done = [each.tags(length, self.guide.labels) for each in answers if each and each.status == "done"]
                if len(done) == 2:
                    pairs.append((done[0], done[1]))
            return annotator_agreement(pairs)

    def _used_labels(self) -> set[str]:
        answers = [answer for identifier in self.state.answered for answer in self.state.answers(identifier)]
        return {span.label for answer in answers for span in answer.spans}

    def _check(self, answer: Answer) -> None:
        if answer.sentence not in self.sentences:
            raise InputError(f"this session has no sentence {answer.sentence!r}.")
        _check_name(answer.annotator)
        check_characters(answer.note)
        if not 0 <= answer.seconds < float("inf"):
            raise InputError(f"the seconds spent cannot be {answer.seconds}.")
        version = self.version(answer.sentence, answer.annotator)
        if answer.seen != version:
            current = self.state.answer(answer.sentence, answer.annotator)
            raise Conflict("This sentence", version, current)
        length = len(self.sentences[answer.sentence].sentence)
        tags_from_spans(answer.spans, length)  # refuses what overlaps or does not fit
        for span in (*answer.spans, *answer.rejected, *answer.open):
            tags_from_spans([span], length)
            if span.label not in self.guide.labels:
                labels = ", ".join(self.guide.labels)
                raise InputError(f"the label {span.label!r} is none of {labels}. Add it to the labels first.")

    def _step(self, kind: str, annotator: str, numbers: Sequence[int]) -> list[str]:
        with self.lock:
            if not numbers:
                return []
            number = numbers[-1]
            self._append({"kind": kind, "annotator": annotator, "of": number})
            return self.state.touched(number)

    def _append(self, event: Mapping[str, Any]) -> None:
        entry = self._log.append(json.loads(json.dumps(event)))  # as it will be read again
        self.state.apply(entry.number, entry.event)


def _stored(text: Corpus, settings: SessionSettings) -> Iterator[Stored]:
    """The sentences of a text, some of them held back: nearly equal ones are on the same side."""
    firsts = first_alike([sentence.words for sentence in text])
    identifiers = [id_of(sentence.words, position) for position, sentence in enumerate(text)]
    dice = Random(f"held back {settings.seed}")
    held_back = [dice.random() < settings.held_back for _ in firsts]
    for position, (sentence, first) in enumerate(zip(text, firsts, strict=True)):
        like = None if first == position else identifiers[first]
        yield Stored(identifiers[position], sentence.with_tags(None), held_back[first], like)


def coloured(guide: Guide) -> Guide:
    """The guide with a colour for each of its labels, and for no other."""
    free = [colour for colour in _COLOURS if colour not in guide.colours.values()]
    colours = dict(guide.colours)
    for number, label in enumerate(guide.labels):
        if label not in colours:
            colours[label] = free.pop(0) if free else _COLOURS[number % len(_COLOURS)]
    return replace(guide, colours={label: colours[label] for label in guide.labels})


def check_guide(guide: Guide) -> None:
    """Refuse labels and colours that cannot be."""
    if not guide.labels:
        raise InputError(f"a session needs labels: name them ({argument('labels', ...)}).")
    if len(set(guide.labels)) < len(guide.labels):
        raise InputError(f"a label is there twice: {', '.join(guide.labels)}.")
    for label in guide.labels:
        if not label.strip() or label != label.strip() or set(label) & set("|*\t\r\n"):
            raise InputError(f"a label cannot be {label!r}: give it letters, and no blank at its ends, | or *.")
        check_characters(label)
    for label, colour in guide.colours.items():
        if not _COLOUR.fullmatch(colour):
            raise InputError(f"the colour of {label} cannot be {colour!r}: write it as #8dd3c7.")
    check_characters(guide.guidelines)


def _check_name(annotator: str) -> None:
    if not annotator.strip() or len(annotator) > 100:
        raise InputError(f"an annotator needs a name of at most 100 characters, not {annotator[:100]!r}.")
    check_characters(annotator)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with atomic_file(path) as file:
        file.write(f"{json.dumps(content, indent=2)}\n".encode())
