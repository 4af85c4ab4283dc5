"""Texts that a command reads as a stream: raw ones under a bar, and whatever else is a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from acclimate.cli.corpora import is_bundled, open_corpus
from acclimate.cli.progress import stderr_console, warn
from acclimate.cli.select import ReadingBar
from acclimate.data.problems import InputError
from acclimate.data.selection.ngram_scores import detected_format
from acclimate.data.selection.select import SelectionProgress
from acclimate.data.selection.text_files import SentenceStream
from acclimate.evaluation.table import count


class TextReading:
    """The sentences of all texts: raw ones as a stream under a bar, others as corpora, of which the labelled stay."""

    def __init__(
        self, texts: Sequence[str], format: str | None, pre_split: bool, paragraphs: bool, quiet: bool
    ) -> None:
        def is_raw(name: str) -> bool:
            return not is_bundled(name) and Path(name).is_file() and (format or detected_format(name)) == "text"

        raw = [name for name in texts if is_raw(name)]
        options: dict[str, Any] = {"tokenize": "blanks" if pre_split else None, "paragraphs": paragraphs}
        corpora = [
            open_corpus(name, tell=warn, format=format, borders="drop", **options) for name in texts if name not in raw
        ]
        self.labelled = [corpus for corpus in corpora if corpus.is_labelled and corpus.kind == "spans"]
        self._names, self._corpora = texts, corpora
        self._bar = ReadingBar(stderr_console(quiet)) if raw else None

        def watch(stored: int, of: int, text: int) -> None:
            assert self._bar is not None
            self._bar.show(SelectionProgress(stored, of, text))

        self._stream = SentenceStream(raw, "blanks" if pre_split else "words", paragraphs, watch)

    def __iter__(self) -> Iterator[Sequence[str]]:
        held: Iterable[Sequence[str]] = (sentence.words for corpus in self._corpora for sentence in corpus)
        return chain(held, self._stream)

    def __enter__(self) -> None:
        if self._bar is not None:
            self._bar.__enter__()

    def __exit__(self, *failure: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(*failure)
        if self._stream.lines_too_long:
            lines = count(self._stream.lines_too_long, "line")
            warn(f"{lines} of more than a megabyte: left out, as no sentence is so long.")

    def nothing_found(self) -> InputError:
        return InputError("there are no words in it.", file=", ".join(self._names))
