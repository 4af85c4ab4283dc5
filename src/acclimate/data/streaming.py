"""Text of any size, part by part, for whoever need not hold all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from acclimate.data.corpus import Corpus, ReadingNotes, Sentence
from acclimate.data.problems import InputError
from acclimate.data.readers.detection import detect_format
from acclimate.data.readers.hub import PREFIX
from acclimate.data.readers.ledger import Found, Ledger
from acclimate.data.readers.opening import Source
from acclimate.data.readers.tagging import settle
from acclimate.data.reading import (
    FORMATS,
    corpus_name,
    guess_told,
    known_format,
    nothing_found,
    read_source,
    request_for,
)

One = TypeVar("One", Sentence, Found)

WORDS = 1 << 13
_TEXT = "text"
_JSON = ("jsonl", "doccano", "label_studio", "prodigy")


class CorpusStream:
    """The sentences of a corpus in their order, without tags, as corpora of a few thousand words each. Go through it
    once.

    `is_whole` says that all of it is in memory, because its format cannot be read in parts. `notes` are what was not
    taken as it stood, as far as was read.
    """

    def __init__(
        self, name: str, format: str, parts: Iterable[Corpus], notes: Callable[[], ReadingNotes], is_whole: bool
    ) -> None:
        self.name, self.format, self.is_whole = name, format, is_whole
        self.guess: tuple[str, ...] = ()  # what to say where only the look of the first lines tells the format
        self._parts, self._notes = parts, notes

    @classmethod
    def of(cls, corpus: Corpus, words: int = WORDS) -> CorpusStream:
        parts = (Corpus(part, corpus.name) for part in _by_words(corpus.unlabelled(), words))
        return cls(corpus.name, corpus.notes.format, parts, lambda: corpus.notes, is_whole=True)

    @property
    def notes(self) -> ReadingNotes:
        return self._notes()

    def __iter__(self) -> Iterator[Corpus]:
        return iter(self._parts)


def stream_corpus(
    path: str | Path,
    format: str | None = None,
    *,
    name: str | None = None,
    words: int = WORDS,
    **options: Any,
) -> CorpusStream:
    """A corpus as `read_corpus` reads it, with the same `options` and the same errors, but part by part.

    Raw text (a folder of it, too) and JSON with a record per line are read while somebody goes through the stream:
    memory does not grow with the file. Any other format is read whole. An error in a later part is raised when it is
    reached. A part has about so many `words`, unless one of its sentences alone has more.
    """
    source, request, asked = Source(path), request_for(**options), known_format(format)
    parts, format = _opened(source, asked)
    first = next(parts)
    name = name or corpus_name(source)
    if _is_read_by_lines(first, format):
        ledger = Ledger(request)
        stream = CorpusStream(
            name,
            format,
            _read_by_lines(chain([first], parts), format, name, ledger, words),
            lambda: ReadingNotes(format, skipped=tuple(ledger.skipped), remarks=ledger.remarks),
            is_whole=False,
        )
    else:
        stream = CorpusStream.of(read_source(_whole(source, first, parts), request, format, name), words)
    stream.guess = () if asked is not None else guess_told(first, format)
    return stream


def _opened(source: Source, format: str | None) -> tuple[Iterator[Source], str]:
    """The parts of a source, one at least, and the format."""
    if source.name.startswith(PREFIX) or (not source.is_stdin and source.path.is_dir()):
        return iter([source]), format or detect_format(source)
    parts = source.parts()
    first = next(parts, source.part(b""))
    try:
        return chain([first], parts), format or detect_format(first)
    except InputError:  # a record of JSON may be longer than the first part
        whole = _whole(source, first, parts)
        return iter([whole]), detect_format(whole)


def _whole(source: Source, first: Source, others: Iterable[Source]) -> Source:
    if first is source or (not source.is_stdin and source.path.is_file()):
        return source
    return source.part(b"".join(part.data for part in (first, *others)))  # a pipe cannot be read again


def _is_read_by_lines(first: Source, format: str) -> bool:
    return format == _TEXT or (format in _JSON and not first.text.lstrip().startswith("["))


def _read_by_lines(parts: Iterator[Source], format: str, name: str, ledger: Ledger, words: int) -> Iterator[Corpus]:
    first = next(parts)
    is_empty = True
    sentences = chain.from_iterable(FORMATS[format](part, ledger) for part in chain([first], parts))
    for found in _by_words(sentences, words):
        for one in found:
            one.tags = one.spans = None
        is_empty = False
        yield Corpus(settle(found, ledger, first.name).sentences, name)
    if is_empty:
        raise nothing_found(first, ledger, format)


def _by_words(sentences: Iterable[One], words: int) -> Iterator[tuple[One, ...]]:
    """Sentences one after the other, in groups of about so many words."""
    group: list[One] = []
    size = 0
    for sentence in sentences:
        group.append(sentence)
        size += len(sentence.words)
        if size >= words:
            yield tuple(group)
            group, size = [], 0
    if group:
        yield tuple(group)
