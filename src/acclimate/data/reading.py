"""`read_corpus` reads any corpus, `stream_corpus` reads one in parts, `load_bundled` reads one that ships."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from acclimate.data.character_spans import SPLIT_BETWEEN_LETTERS
from acclimate.data.corpus import Corpus, Kind, ReadingNotes, Sentence
from acclimate.data.problems import EmptyInput, InputError
from acclimate.data.readers.annotation_tools import (
    read_brat,
    read_docbin,
    read_doccano,
    read_label_studio,
    read_prodigy,
)
from acclimate.data.readers.columns import read_columns, read_conllu, read_text
from acclimate.data.readers.detection import detect_format, is_guessed
from acclimate.data.readers.jsonl import read_jsonl
from acclimate.data.readers.labelling import read_labelling
from acclimate.data.readers.source import Borders, RawSentence, ReadingLog, ReadingOptions, Source, Tokenize, inner_name
from acclimate.data.readers.tables import PREFIX, read_csv, read_hub, read_parquet, read_tsv, stream_parquet
from acclimate.data.readers.tagging import to_sentences
from acclimate.data.subsets import take_sentences
from acclimate.spelling import argument, did_you_mean

Reader = Callable[[Source, ReadingLog], Iterable[RawSentence]]

# to add a format is to add a file to readers/, a line here, and a test
FORMATS: dict[str, Reader] = {
    "conll": read_columns,
    "conllu": read_conllu,
    "jsonl": read_jsonl,
    "doccano": read_doccano,
    "label_studio": read_label_studio,
    "prodigy": read_prodigy,
    "brat": read_brat,
    "docbin": read_docbin,
    "hub": read_hub,
    "labelling": read_labelling,
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "text": read_text,
}
_MANY_SLIPS = 10


def read_corpus(
    path: str | Path,
    format: str | None = None,
    *,
    name: str | None = None,
    labels: Kind | None = None,
    column: int | str | None = None,
    words_column: int | str | None = None,
    comments: bool = False,
    skip_bad: bool = False,
    borders: Borders = "split",
    paragraphs: bool = False,
    tokenize: Tokenize | None = None,
) -> Corpus:
    """Read a corpus from a file (plain, .gz or .xz), a folder, standard input (`-`) or the hub (`hf:OWNER/NAME`).

    format: one of FORMATS; found out from the name and the first lines when it is not given.
    labels: "spans" or "plain" (one label per word, such as POS); found out when it is not given.
    column, words_column: the column of the tags (default: the last, or by its name) and of the words (default: the
        first); a number, counted from 0 or from -1 backwards, or a name where columns have names.
    comments: in `conll`, lines that begin with `# ` are comments. By default `#` is a word: tweets are full of it.
    skip_bad: leave out each sentence (or record) with a bad line and list it in `notes.skipped`; otherwise stop.
    borders: what becomes of a character span that cuts a word: "split" splits the word there, "error" stops, "expand"
        takes the whole word in, "drop" leaves the span out. Each but "error" is listed in the notes.
    paragraphs: split the lines of raw text into sentences; otherwise each line is one.
    tokenize: "words" (default) finds words in raw text; "blanks" only splits at blanks.
    """
    options = ReadingOptions(
        labels=labels,
        column=column,
        words_column=words_column,
        comments=comments,
        skip_bad=skip_bad,
        borders=borders,
        paragraphs=paragraphs,
        tokenize=tokenize,
    )
    return read_source(Source(path), options, format, name)


def read_source(source: Source, options: ReadingOptions, format: str | None = None, name: str | None = None) -> Corpus:
    """`read_corpus` of what was opened already."""
    log = ReadingLog(options)
    asked, format = format, known_format(format) or detect_format(source)
    with _collector_at_rest():
        result = to_sentences(FORMATS[format](source, log), log, source.name)
    if not result.sentences:
        raise nothing_found(source, log, format)
    _check_offsets(result.sentences, log, source)
    guesses = () if asked is not None else guess_remark(source, format)
    skipped, misses = tuple(log.skipped), tuple(log.border_misses)
    remarks = guesses + log.remarks
    notes = ReadingNotes(format, result.scheme, result.repaired, skipped, misses, remarks, log.annotators)
    return Corpus(result.sentences, name or corpus_name(source), result.kind, notes, log.annotates)


def guess_remark(source: Source, format: str) -> tuple[str, ...]:
    """A remark if the format is only a guess."""
    advice = f"if it is raw text, say so with {argument('format', 'text')}"
    return (f"read as {format}, by the look of its first lines; {advice}",) if is_guessed(source, format) else ()


def known_format(format: str | None) -> str | None:
    """The format that was asked for, if it is one."""
    if format is not None and format not in FORMATS:
        raise unknown_format(format, FORMATS)
    return format


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Switch off the garbage collector, which takes most of the time where millions of objects are made."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def unknown_format(format: str, known: Iterable[str]) -> InputError:
    known = list(known)
    problem = f"unknown format {format!r}.{did_you_mean(format.lower(), known)}"
    return InputError(f"{problem} The formats are {', '.join(known)}.")


def nothing_found(source: Source, log: ReadingLog, format: str) -> InputError:
    if log.skipped:
        first = f"the first for this reason: {log.skipped[0]}"
        problem = f"every sentence was skipped as bad ({len(log.skipped)}), {first}"
        return InputError(problem, file=source.name, line=log.skipped[0].place.line)
    if source.name.startswith(PREFIX) or source.path.is_dir() or source.data.strip():
        advice = f"Check the path, or name another format ({argument('format', ...)})."
        problem = f"no sentence was found (read as {format}). {advice}"
    else:  # no format would find one
        problem = f"the file {'holds blank lines only' if source.data else 'is empty'}. Check the path."
        return EmptyInput(problem, file=source.name)
    return InputError(problem, file=source.name)


def _check_offsets(sentences: Iterable[Sentence], log: ReadingLog, source: Source) -> None:
    """Refuse offsets that mostly fall between two letters: they count something else than characters."""
    slips = [miss for miss in log.border_misses if miss.outcome == SPLIT_BETWEEN_LETTERS]
    spans = sum(len(sentence.spans) for sentence in sentences) if len(slips) >= _MANY_SLIPS else 0
    if spans and 2 * len(slips) > spans:
        problem = f"{len(slips):,} of {spans:,} spans begin or end between two letters of a word. The first: {slips[0]}"
        others = f"{argument('borders', 'expand')} (whole words) or {argument('borders', 'drop')} (no such span)"
        advice = f"Do the offsets count bytes, or was the text changed? If all is right, pass {others}."
        raise InputError(f"{problem} {advice}", file=source.name, line=slips[0].place.line)


def corpus_name(source: Source) -> str:
    if source.is_stdin:
        return "stdin"
    if source.name.startswith(PREFIX):
        return source.name.removeprefix(PREFIX)
    return inner_name(source.path.name).rsplit(".", 1)[0] or source.path.name


One = TypeVar("One", Sentence, RawSentence)

WORDS = 1 << 13
_JSON = ("jsonl", "doccano", "label_studio", "prodigy")


@dataclass
class CorpusStream:
    """A corpus without tags, in order, as corpora of a few thousand words each. It can be read once.

    `is_whole`: all of it is in memory, because its format cannot be read in parts. `notes` cover what was read so far.
    `total` is the number of sentences, or about the number of lines; None if it is not known.
    """

    name: str
    format: str
    parts: Iterable[Corpus]
    read_notes: Callable[[], ReadingNotes]
    is_whole: bool
    total: int | None = None
    guess: tuple[str, ...] = ()  # a remark if the format is only a guess

    @classmethod
    def of(cls, corpus: Corpus, words: int = WORDS) -> CorpusStream:
        parts = (Corpus(part, corpus.name) for part in _by_words(corpus.unlabelled(), words))
        return cls(corpus.name, corpus.notes.format, parts, lambda: corpus.notes, True, len(corpus))

    @property
    def notes(self) -> ReadingNotes:
        return self.read_notes()

    def __iter__(self) -> Iterator[Corpus]:
        return iter(self.parts)


def stream_corpus(
    path: str | Path, format: str | None = None, *, name: str | None = None, words: int = WORDS, **keywords: Any
) -> CorpusStream:
    """A corpus as `read_corpus` reads it, with the same options and errors, but in parts of about so many `words`.

    Raw text, JSON with a record per line, and Parquet are read as the stream is used, so that memory does not grow with
    the file; an error comes when its part is reached. Any other format is read whole.
    """
    source, options, asked = Source(path), ReadingOptions(**keywords), known_format(format)
    parts, format = _opened(source, asked)
    first = next(parts)
    name, log = name or corpus_name(source), ReadingLog(options)
    guess = () if asked is not None else guess_remark(first, format)
    sentences: Iterable[RawSentence]
    total: int | None
    if format == "text" or (format in _JSON and not first.text.lstrip().startswith("[")):
        sentences = chain.from_iterable(FORMATS[format](part, log) for part in chain([first], parts))
        total = _about_lines(source, first)
    elif format == "parquet" and source.is_plain_file:
        sentences, total = stream_parquet(source, log)
    else:
        whole = CorpusStream.of(read_source(_whole(source, first, parts), options, format, name), words)
        return replace(whole, guess=guess)

    def notes() -> ReadingNotes:
        return ReadingNotes(format, skipped=tuple(log.skipped), remarks=log.remarks)

    corpora = _corpora_of(sentences, first, format, name, log, words)
    return CorpusStream(name, format, corpora, notes, False, total, guess)


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


def _about_lines(source: Source, first: Source) -> int | None:
    """How many lines a plain file has, by those of its first part."""
    if not source.is_plain_file or not first.data:
        return None
    return max(1, round(max(1, first.data.count(b"\n")) * source.path.stat().st_size / len(first.data)))


def _corpora_of(
    sentences: Iterable[RawSentence], first: Source, format: str, name: str, log: ReadingLog, words: int
) -> Iterator[Corpus]:
    is_empty = True
    for part in _by_words(sentences, words):
        for sentence in part:
            sentence.tags = sentence.spans = sentence.probabilities = None
        is_empty = False
        yield Corpus(to_sentences(part, log, first.name).sentences, name)
    if is_empty:
        raise nothing_found(first, log, format)


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


BUNDLED = {
    "news": "newspaper sentences; PER, LOC, ORG, MISC",
    "social": "informal posts; PER, LOC, ORG, MISC",
    "clinical": "clinical notes; DISEASE, SYMPTOM, TREATMENT",
}


class Domain(NamedTuple):
    """One bundled domain. `text` is everything that may be read without labels: the unlabelled part and train."""

    train: Corpus
    dev: Corpus
    test: Corpus
    unlabelled: Corpus

    @property
    def few(self) -> Corpus:
        """100 sentences of train, always the same ones."""
        return take_sentences(self.train, min(100, len(self.train)), seed=0).renamed(
            self.train.name.replace("train", "few")
        )

    @property
    def text(self) -> Corpus:
        return (self.train.unlabelled() + self.unlabelled).renamed(f"{self.unlabelled.name} text")


def load_bundled(name: str) -> Domain:
    """`news`, `social` or `clinical`."""
    if name not in BUNDLED:
        raise InputError(f"no bundled corpus {name!r}. There are: {', '.join(BUNDLED)}.")
    with as_file(files("acclimate.data") / "corpora" / name) as folder:
        train, dev, test = (
            read_corpus(folder / f"{part}.conll", "conll", name=f"{name} {part}") for part in ("train", "dev", "test")
        )
        unlabelled = read_corpus(folder / "unlabelled.txt", "text", name=f"{name} unlabelled", tokenize="blanks")
    return Domain(train, dev, test, unlabelled)
