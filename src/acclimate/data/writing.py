"""`write_corpus` writes a corpus to a file of any format, whole or not at all."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.readers.detection import BY_SUFFIX
from acclimate.data.readers.source import inner_name
from acclimate.data.reading import unknown_format
from acclimate.data.schemes import SCHEMES, Scheme
from acclimate.data.writers.formats import WRITERS, ParquetParts, files_of_brat_pair, is_brat_pair, write_brat
from acclimate.data.writers.shared import LIMITS, atomic_file, check_fits, encoded, is_stream, save
from acclimate.spelling import argument, either

_JOINED = ("conll", "jsonl")  # parts one after the other are the whole
_PARQUET = "parquet"  # grows by groups of rows
_BRAT = "brat"  # not among them: it writes more than one file
_BY_SUFFIX = {
    **BY_SUFFIX,
    **{".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "label_studio", ".tsv": "tsv", ".txt": "text"},
}


def write_corpus(corpus: Corpus, path: str | Path, format: str | None = None, scheme: str = "IOB2") -> list[Path]:
    """Write a corpus to a file (.gz and .xz are compressed), to a folder (brat), or to standard output (`-`).

    format: one of WRITERS, or "brat"; by the name's ending when it is not given, and `conll` when it has none.
    scheme: how span tags are spelled where the format has tags. Formats without tags refuse open ones.
    Returns the files that were written, which are none for standard output.
    """
    format = format_to_write(path, format, corpus.is_labelled)
    if format == _BRAT:
        return write_brat(_writable(corpus, path, format), path)
    save(_bytes_of(corpus, path, format, scheme), path)
    return [] if str(path) == "-" else [Path(path)]


@contextmanager
def writing_parts(path: str | Path, format: str | None = None) -> Iterator[Parts]:
    """Write a tagged corpus part by part: `with … as parts: parts.add(part)`.

    conll, jsonl and parquet are written as the parts come; parts of other formats are kept in memory until the end.
    """
    format = format_to_write(path, format, has_tags=True)
    with ExitStack() as stack:
        file = None
        if format in (*_JOINED, _PARQUET) and str(path) != "-":
            file = stack.enter_context(atomic_file(path))
        parts = Parts(path, format, file)
        yield parts
        parts.finish()


class Parts:
    """What `writing_parts` writes to. `files` are those that were written, once it is over."""

    def __init__(self, path: str | Path, format: str, file: IO[bytes] | None) -> None:
        self.path, self.format, self.file = path, format, file
        self.files: list[Path] = []
        self._is_first = True
        self._waiting: list[Corpus] = []
        self._table = ParquetParts(file) if format == _PARQUET and file is not None else None

    @property
    def is_whole(self) -> bool:
        """Whether all parts are kept until the end."""
        return self._table is None and self.format not in _JOINED

    def add(self, part: Corpus) -> None:
        if self.is_whole:
            self._waiting.append(part)
            return
        if self._table is not None:
            self._table.add(_writable(part, self.path, self.format))
            return
        data = _bytes_of(part, self.path, self.format)
        if not self._is_first:  # only at the beginning of a file would a reader take it for a byte-order mark
            data = data.removeprefix(codecs.BOM_UTF8) if data.startswith(2 * codecs.BOM_UTF8) else data
        self._is_first = False
        if self.file is None:
            save(data, "-")
        else:
            self.file.write(data)
            if is_stream(self.path):
                self.file.flush()

    def finish(self) -> None:
        if self._table is not None:
            self._table.close()
        if self._waiting:
            sentences = tuple(sentence for part in self._waiting for sentence in part)
            whole = replace(self._waiting[0], sentences=sentences)
            self.files = write_corpus(whole, self.path, self.format)
        elif self.file is not None:
            self.files = [Path(self.path)]


def _writable(corpus: Corpus, path: str | Path, format: str) -> Corpus:
    """The corpus with as much of what it annotates as tags can say, once it is checked."""
    corpus = corpus.open_to(corpus.labels)
    check_fits(corpus, format, path)
    return corpus


def _bytes_of(corpus: Corpus, path: str | Path, format: str, scheme: str = "IOB2") -> bytes:
    content = WRITERS[format](_writable(corpus, path, format), _scheme(scheme))
    return content if isinstance(content, bytes) else encoded("".join(content))


def _scheme(name: str) -> Scheme:
    for scheme in SCHEMES:
        if name.upper() == scheme:
            return scheme
    raise InputError(f"unknown scheme {name!r}. The schemes are {', '.join(SCHEMES)}.")


def format_to_write(path: str | Path, format: str | None = None, has_tags: bool = False) -> str:
    """The format that is asked for, or else that of the name. Refuses plain text where there are tags."""
    if format is not None:
        if format not in LIMITS:
            raise unknown_format(format, LIMITS)
        return format
    inferred = _format_by_name(path)
    if inferred == "text" and has_tags:
        problem = "plain text holds no tags, and the corpus has some. Name the file .conll or .jsonl to keep them"
        spelled = either('write_corpus(format="text")', argument("to", "text"))
        raise InputError(f"{problem}, or pass {spelled} to leave them out.", file=path)
    return inferred


def files_to_write(path: str | Path, format: str) -> list[Path]:
    """The files that a corpus will stand in; none where that is a folder, whose files go by the documents."""
    if format != _BRAT:
        return [Path(path)]
    return files_of_brat_pair(path) if is_brat_pair(path) else []


def _format_by_name(path: str | Path) -> str:
    if str(path) != "-" and (str(path).endswith("/") or Path(path).is_dir()):
        return _BRAT
    suffix = Path(inner_name(Path(path).name)).suffix
    if not suffix or (is_stream(path) and suffix.lower() not in _BY_SUFFIX):
        return "conll"
    if suffix.lower() not in _BY_SUFFIX:
        known = ", ".join(sorted(_BY_SUFFIX))
        problem = f"the ending {suffix} is of no format that we write. Name the file with one of these: {known}"
        raise InputError(f"{problem}; or pass {either('write_corpus(format=…)', argument('to', ...))}.", file=path)
    return _BY_SUFFIX[suffix.lower()]
