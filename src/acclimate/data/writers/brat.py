"""brat stand-off: a folder with a pair of files per text, or one pair for all of them, line by line."""

from __future__ import annotations

import re
from pathlib import Path

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.readers.opening import COMPRESSED, inner_name
from acclimate.data.writers.saving import encoded, save
from acclimate.data.writers.spelling import check_all_or_none, check_spans_kind
from acclimate.data.writers.text_records import TextRecord, text_records

_SAFE_NAME = re.compile(r"\w[\w.-]{0,100}")


def write_brat(corpus: Corpus, path: str | Path) -> None:
    """`path`: a folder, or NAME.ann or NAME.txt (perhaps compressed), of which the other is the partner."""
    check_spans_kind(corpus, "brat")
    check_all_or_none(corpus, "brat")
    for label in corpus.labels:
        if label.split() != [label]:
            raise InputError(f"the label {label!r} holds a blank, which brat uses itself. Rename it, or write jsonl.")
    if str(path) == "-":
        raise InputError("brat keeps text and annotation in two files; they cannot go to standard output.")
    path, records = Path(path), list(text_records(corpus))
    name = inner_name(path.name)
    if name.endswith((".ann", ".txt")):
        packed = path.suffix if path.suffix.lower() in COMPRESSED else ""
        _write_pair(path.parent, name[:-4], packed, records)
        return
    taken: set[str] = set()
    for number, record in enumerate(records, start=1):
        wanted = record.document or ""
        stem = wanted if _SAFE_NAME.fullmatch(wanted) and wanted not in taken else f"{number:06d}"
        taken.add(stem)
        _write_pair(path, stem, "", [record])


def _write_pair(folder: Path, stem: str, packed: str, records: list[TextRecord]) -> None:
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
    save(encoded("".join(texts)), folder / f"{stem}.txt{packed}")
    if records and records[0].spans is not None:
        save(encoded("".join(lines)), folder / f"{stem}.ann{packed}")
