"""brat stand-off: a folder with a pair of files per text, or one pair for all of them, line by line."""

from __future__ import annotations

import os
import re
from pathlib import Path

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.readers.source import inner_name
from acclimate.data.writers.shared import TextRecord, check_all_or_none, check_spans_kind, encoded, save, text_records

_SAFE_NAME = re.compile(r"\w[\w.-]{0,100}")


def is_pair(path: str | Path) -> bool:
    """Whether a path names one pair of files for all texts, and not a folder for many."""
    return not os.path.isdir(path) and inner_name(Path(path).name).endswith((".ann", ".txt"))


def files_of_pair(path: str | Path) -> list[Path]:
    """NAME.ann or NAME.txt (perhaps compressed) as both: the text, and what is said about it."""
    path = Path(path)
    name = inner_name(path.name)
    return [path.with_name(f"{name[:-4]}{suffix}{path.name[len(name) :]}") for suffix in (".txt", ".ann")]


def write_brat(corpus: Corpus, path: str | Path) -> list[Path]:
    """`path`: a folder, or NAME.ann or NAME.txt (perhaps compressed), of which the other is the partner.

    Returns the files that were written.
    """
    check_spans_kind(corpus, "brat")
    check_all_or_none(corpus, "brat")
    for label in corpus.labels:
        if label.split() != [label]:
            raise InputError(f"the label {label!r} holds a blank, which brat uses itself. Rename it, or write jsonl.")
    if str(path) == "-":
        raise InputError("brat keeps text and annotation in two files; they cannot go to standard output.")
    records = list(text_records(corpus))
    if is_pair(path):
        return _write_pair(files_of_pair(path), records)
    written: list[Path] = []
    taken: set[str] = set()
    for number, record in enumerate(records, start=1):
        wanted = record.document or ""
        stem = wanted if _SAFE_NAME.fullmatch(wanted) and wanted not in taken else f"{number:06d}"
        taken.add(stem)
        written += _write_pair(files_of_pair(Path(path) / f"{stem}.txt"), [record])
    return written


def _write_pair(pair: list[Path], records: list[TextRecord]) -> list[Path]:
    texts: list[str] = []
    lines: list[str] = []
    shift = 0
    for record in records:
        for span in record.spans or ():
            marked = " ".join(record.text[span.start : span.end].split("\n"))
            lines.append(f"T{len(lines) + 1}\t{span.label} {span.start + shift} {span.end + shift}\t{marked}\n")
        text = record.text if record.text.endswith("\n") else f"{record.text}\n"
        texts.append(text)
        shift += len(text)
    save(encoded("".join(texts)), pair[0])
    if not records or records[0].spans is None:
        return pair[:1]
    save(encoded("".join(lines)), pair[1])
    return pair
