"""Corpora as the command line names them: a file, a folder, `-`, or a bundled one such as `news` or `news/test`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from acclimate.data.bundled import BUNDLED, load_bundled
from acclimate.data.corpus import Corpus
from acclimate.data.mapping import LabelMap, map_labels, typeless
from acclimate.data.problems import InputError
from acclimate.data.reading import FORMATS, CorpusStream, read_corpus, stream_corpus, unknown_format
from acclimate.evaluation.table import count
from acclimate.settings import UsageError

PARTS = ("train", "dev", "test", "unlabelled")
Tell = Callable[[str], Any]


def is_bundled(name: str) -> bool:
    """A file or folder of that name wins over a bundled corpus."""
    return name.partition("/")[0] in BUNDLED and not Path(name).exists()


def open_corpus(
    name: str, *, map_name: str | None = None, make_typeless: bool = False, tell: Tell | None = None, **options: Any
) -> Corpus:
    """Read a corpus, with its labels renamed or dropped as asked. `tell` hears what was not taken as it stood."""
    corpus = _bundled_part(name) if is_bundled(name) else _read(name, options)
    if tell is not None:
        tell_notes(corpus, tell)
    if map_name is not None and corpus.is_labelled:
        corpus = map_labels(corpus, LabelMap.load(map_name))
    return typeless(corpus) if make_typeless and corpus.is_labelled else corpus


def open_stream(name: str, **options: Any) -> CorpusStream:
    """A corpus that is read part by part where its format allows it."""
    if is_bundled(name):
        return CorpusStream.of(_bundled_part(name))
    _check_name(name, options)
    return stream_corpus(name, name=None if name == "-" else name, **options)


def column_of(text: str | None) -> int | str | None:
    """A column as it is typed: a number, or a name."""
    return int(text) if text is not None and text.removeprefix("-").isdecimal() else text


def _bundled_part(name: str) -> Corpus:
    domain, slash, part = name.partition("/")
    part = part if slash else "train"
    if part not in PARTS:
        raise UsageError(f"{name}: a bundled corpus has the parts {', '.join(PARTS)}.")
    corpus: Corpus = getattr(load_bundled(domain), part)
    return corpus


def _read(name: str, options: dict[str, Any]) -> Corpus:
    _check_name(name, options)
    # called as the user calls it: of three files named test.conll.gz, which one is meant?
    return read_corpus(name, name=None if name == "-" else name, **options)


def _check_name(name: str, options: dict[str, Any]) -> None:
    format = options.get("format")
    if format is not None and format not in FORMATS:
        raise UsageError(str(unknown_format(format, FORMATS)))
    if "/" not in name and not Path(name).exists():
        close = difflib.get_close_matches(name, BUNDLED, n=1)
        if close:
            raise InputError(f"{name}: there is no such file. Did you mean the bundled corpus {close[0]!r}?")


def tell_notes(corpus: Corpus, tell: Tell, most: int = 5, of_tags: bool = True) -> None:
    """Say what the reader repaired, skipped or moved, and what has no tags: nothing is lost silently."""
    notes = corpus.notes
    if notes.repaired and of_tags:
        verb = "was" if notes.repaired == 1 else "were"
        tell(f"{corpus.name}: {count(notes.repaired, 'tag')} broke the scheme and {verb} read as the start of a span.")
    _tell_list(corpus.name, "bad line", "skipped", notes.skipped, tell, most)
    if of_tags:
        _tell_list(corpus.name, "span", "missed word borders", notes.border_misses, tell, most)
    annotated = sum(sentence.tags is not None for sentence in corpus)
    if of_tags and 0 < annotated < len(corpus):
        tell(f"{corpus.name}: {annotated:,} of {count(len(corpus), 'sentence')} are annotated, the others not.")
    for remark in notes.remarks:
        tell(f"{corpus.name}: {remark}")


def _tell_list(name: str, noun: str, fate: str, found: Sequence[object], tell: Tell, most: int) -> None:
    if found:
        tell(f"{name}: {count(len(found), noun)} {fate}.")
        for item in found[:most]:
            tell(f"  {item}")
        if len(found) > most:
            tell(f"  … and {len(found) - most:,} more")
