"""What writers share: what each format can hold, files that are written whole or not at all, tags in a scheme, and
texts with their spans."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, cast

from acclimate.data.character_spans import CharacterSpan
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.readers.source import check_characters
from acclimate.data.schemes import Scheme, keep_open, tags_from_spans
from acclimate.data.words import joined_words
from acclimate.spelling import either

CsvRow = Mapping[str, Any]


def encoded(text: str) -> bytes:
    """UTF-8. A text that begins with U+FEFF gets a second one: readers take the first for a byte-order mark."""
    try:
        return (f"\ufeff{text}" if text.startswith("\ufeff") else text).encode("utf-8")
    except UnicodeEncodeError as error:
        around = text[max(0, error.start - 20) : error.end + 20]
        problem = f"half of a surrogate pair (U+{ord(text[error.start]):04X}) cannot be written as UTF-8."
        raise InputError(problem, text=around) from error


def save(data: bytes, path: str | Path) -> None:
    """Write a file so that it is there whole or not at all; `-` is standard output."""
    if str(path) == "-":
        if sys.stdout is None:  # the caller has closed it
            raise InputError("standard output is closed: nothing can be written there. Redirect it, or name a file.")
        sys.stdout.flush()
        left = memoryview(data)
        while left:  # an unbuffered standard output may take only a part at a time
            left = left[sys.stdout.buffer.write(left) :]
        sys.stdout.buffer.flush()
        return
    with atomic_file(path) as file:
        file.write(data)


def write_csv(rows: Sequence[CsvRow], path: str | Path) -> None:
    """A line per row under the names of the first one. What is not known stays empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    save(encoded(text.getvalue()), path)


def write_tables(tables: Mapping[str, Sequence[CsvRow]], folder: str | Path) -> None:
    """One file per table, under its name."""
    for name, rows in tables.items():
        write_csv(rows, Path(folder) / f"{name}.csv")


@contextmanager
def atomic_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to piece by piece, compressed by its name; it is put in its place when all went well."""
    path = Path(path)
    if is_stream(path):
        with _naming_file(path), path.open("wb") as stored, _compressed(stored, path.suffix.lower()) as file:
            yield file
        return
    aside = aside_of(path)
    try:
        with _naming_file(path, aside):
            path.parent.mkdir(parents=True, exist_ok=True)
            with aside.open("wb") as stored, _compressed(stored, path.suffix.lower()) as file:
                yield file
            os.replace(aside, path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def aside_of(path: Path) -> Path:
    """Where a file is written before it is put in its place."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def is_stream(path: str | Path) -> bool:
    """Whether what is written there flows on: standard output, /dev/null, a named pipe. Nothing is replaced by it."""
    # /dev/stdout may lead to a plain file, which the shell made for us to write into
    flows = str(path) in ("-", "/dev/stdout", "/dev/stderr") or str(path).startswith(("/dev/fd/", "/proc/self/fd/"))
    return flows or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))


@contextmanager
def _naming_file(path: Path, aside: Path | None = None) -> Iterator[None]:
    """Give errors of writing the name that the user knows."""
    try:
        yield
    except BrokenPipeError:  # the reader has closed the pipe
        raise
    except OSError as error:
        where = "" if error.filename in (None, str(path), str(aside)) else f": {error.filename}"
        problem = f"the file cannot be written ({error.strerror or error}{where}). Name a file elsewhere."
        raise InputError(problem, file=path) from error


@contextmanager
def _compressed(stored: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        with gzip.GzipFile("", "wb", fileobj=stored, mtime=0) as file:
            yield cast(IO[bytes], file)
    elif suffix == ".xz":
        with lzma.open(stored, "wb") as file:
            yield cast(IO[bytes], file)
    else:
        yield stored


def spelled_tags(sentence: Sentence, corpus: Corpus, scheme: Scheme) -> list[str] | None:
    """The sentence's tags in the scheme; plain ones as they are; None without tags."""
    if sentence.tags is None or corpus.kind == "plain":
        return None if sentence.tags is None else list(sentence.tags)
    spans = sentence.spans
    if scheme == "IO":
        for before, after in pairwise(spans):
            if before.end == after.start and before.label == after.label:
                neighbours = " ".join(sentence.words[before.start : after.end])
                problem = f"IO cannot keep two neighbours of one label apart ({before.label}). Choose another scheme."
                raise InputError(problem, place=sentence.place, text=neighbours)
    return keep_open(tags_from_spans(spans, len(sentence), scheme), sentence.tags)


def points_at_words(sentence: Sentence) -> bool:
    """Whether the offsets point at the words, in order, which they do not where words were replaced."""
    if sentence.text is None or sentence.offsets is None:
        return False
    reached = 0
    for word, (start, end) in zip(sentence.words, sentence.offsets, strict=True):
        if start < reached or sentence.text[start:end] != word:
            return False
        reached = end
    return True


def covered_text(sentence: Sentence) -> str | None:
    """The stretch of its text from the sentence's first word to its last, if it is known."""
    if sentence.text is None or sentence.offsets is None or not points_at_words(sentence):
        return None
    return sentence.text[sentence.offsets[0][0] : sentence.offsets[-1][1]]


@dataclass(frozen=True, slots=True)
class TextRecord:
    """A text, where its words stand, and its spans (None: not annotated)."""

    text: str
    words: tuple[tuple[int, int], ...]
    spans: tuple[CharacterSpan, ...] | None
    document: str | None


def text_records(corpus: Corpus) -> Iterator[TextRecord]:
    """The texts of a corpus: neighbouring sentences of one text together, less the parts that are not in the corpus."""
    group: list[Sentence] = []
    for sentence in map(_with_text, corpus):
        if group and not _continues(group[-1], sentence):
            yield _record(group)
            group = []
        group.append(sentence)
    if group:
        yield _record(group)


def _with_text(sentence: Sentence) -> Sentence:
    """The sentence with a text: its own, or its words with blanks between them."""
    if points_at_words(sentence):
        return sentence
    for word in sentence.words:
        if not word.strip(" \t\r\n") or "\n" in word or "\r" in word:
            problem = f"the word {word!r} is white space or holds a line end; it would be lost in running text."
            raise InputError(f"{problem} Write jsonl.", place=sentence.place)
    text, offsets = joined_words(sentence.words)
    return Sentence(sentence.words, sentence.tags, text, offsets, sentence.place, sentence.document)


def _offsets(sentence: Sentence) -> Sequence[tuple[int, int]]:
    return sentence.offsets or ()


def _continues(before: Sentence, after: Sentence) -> bool:
    """Whether `after` stands directly behind `before` in the same text."""
    if before.text is None or before.text != after.text or before.document != after.document:
        return False
    if (before.tags is None) != (after.tags is None):
        return False
    end, start = _offsets(before)[-1][1], _offsets(after)[0][0]
    return end <= start and not before.text[end:start].strip()


def _record(group: list[Sentence]) -> TextRecord:
    text = group[0].text or ""
    start, end = _offsets(group[0])[0][0], _offsets(group[-1])[-1][1]
    start = 0 if not text[:start].strip() else start
    end = len(text) if not text[end:].strip() else end
    words = tuple((a - start, b - start) for sentence in group for a, b in _offsets(sentence))
    spans = None if group[0].tags is None else tuple(_spans(group, start))
    return TextRecord(text[start:end], words, spans, group[0].document)


def _spans(group: list[Sentence], shift: int) -> Iterator[CharacterSpan]:
    for sentence in group:
        offsets = _offsets(sentence)
        for span in sentence.spans:
            yield CharacterSpan(offsets[span.start][0] - shift, offsets[span.end - 1][1] - shift, span.label)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a format has room for, and the characters that words and labels may not hold because it uses them itself."""

    plain_tags: bool = True
    open_tags: bool = True
    untagged: bool = False  # sentences without tags among tagged ones
    scores: bool = False
    in_words: str = ""
    in_labels: str = ""


_CELL = "\t\r\n"
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
LIMITS = {
    "conll": Limits(in_words=_CELL, in_labels=_CELL),
    "conllu": Limits(open_tags=False, in_words=_CELL, in_labels=_CELL),
    "jsonl": Limits(untagged=True, scores=True),
    "doccano": Limits(plain_tags=False, open_tags=False),
    "label_studio": Limits(plain_tags=False, open_tags=False, untagged=True),
    "prodigy": Limits(plain_tags=False, open_tags=False, untagged=True),
    "docbin": Limits(plain_tags=False, open_tags=False),
    "csv": Limits(in_words="\r\n"),
    "tsv": Limits(in_words=_CELL, in_labels=_CELL),
    "parquet": Limits(untagged=True),
    "text": Limits(untagged=True, scores=True),  # it asks for no tags at all
    "brat": Limits(plain_tags=False, open_tags=False, in_labels=_BLANKS),
}


def check_fits(corpus: Corpus, format: str, path: str | Path) -> None:
    """Refuse a corpus that the format cannot hold, with the sentence at fault and the formats that can."""
    limits = LIMITS[format]
    if corpus.guess_count and not limits.scores:
        likeliest = either("write corpus.likeliest()", "take the likeliest tags: acclimate data convert")
        problem = f"{corpus.name} holds guesses with scores, which {format} cannot. Name the file .jsonl, or"
        raise InputError(f"{problem} {likeliest}.", file=path)
    _check_characters(corpus)
    if corpus.is_labelled:
        _check_tags(corpus, format, limits)
    if corpus.is_labelled and corpus.kind == "plain" and not limits.plain_tags:
        others = ", ".join(name for name, other in LIMITS.items() if other.plain_tags and name != "text")
        raise InputError(f"{format} marks spans of text, but {corpus.name} has plain tags. Write one of {others}.")
    check_labels(corpus, limits.in_labels, format)
    for sentence in corpus:
        check_words(sentence, limits.in_words, format)


def _check_characters(corpus: Corpus) -> None:
    """Refuse NUL and half of an emoji, which no reader would accept."""
    previous: str | None = None
    for sentence in corpus:
        text = None if sentence.text is previous else sentence.text  # a document's sentences share it
        previous = sentence.text
        try:
            check_characters("\n".join((*sentence.words, *(sentence.tags or ()), text or "")))
        except InputError as error:
            raise InputError(error.problem, place=sentence.place, text=" ".join(sentence.words)) from error


def _check_tags(corpus: Corpus, format: str, limits: Limits) -> None:
    for sentence in corpus:
        problem = None
        if sentence.tags is None and not limits.untagged:
            advice = either(
                "Write corpus.labelled() or corpus.unlabelled(), or use jsonl or parquet.",
                "Leave out the sentences without tags (acclimate data convert --labelled-only), or write jsonl or "
                "parquet.",
            )
            problem = f"this sentence has no tags, but others have, which {format} cannot tell from a sentence without"
            problem += f" spans. {advice}"
        elif sentence.is_open and corpus.kind == "spans" and not limits.open_tags:
            others = ", ".join(name for name, other in LIMITS.items() if other.open_tags and name != "text")
            problem = f"words of this sentence may hide a label that nobody looked for, which {format} cannot say."
            problem += f" Write one of {others}, which keep such tags (O|LOC)."
        if problem is not None:
            raise InputError(problem, place=sentence.place, text=" ".join(sentence.words))


def check_words(sentence: Sentence, forbidden: str, format: str) -> None:
    """No word may be empty, or hold a character that the format uses itself."""
    for word in sentence.words:
        if not word or any(character in forbidden for character in word):
            what = "is empty" if not word else "holds a character that separates words or lines"
            advice = "Mend it." if format == "jsonl" else "Mend it, or write jsonl."
            raise InputError(f"the word {word!r} {what}; {format} cannot hold it. {advice}", place=sentence.place)


def check_labels(corpus: Corpus, forbidden: str, format: str) -> None:
    """No label may hold a character that the format uses itself."""
    for name in corpus.labels if forbidden else ():
        if bad := next((character for character in name if character in forbidden), None):
            problem = f"the label {name!r} holds {bad!r}, which {format} uses itself. Rename it, or write jsonl."
            raise InputError(problem)
