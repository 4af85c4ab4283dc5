"""brat stand-off: NAME.txt with the text, NAME.ann with its annotation; one pair, or a folder of them.

Only text-bound annotations (`T1  PER 0 5  Paris`) are labels; relations, events, attributes and notes are counted. A
span with gaps (`0 5;9 12`) stops the reading like one that cuts a word, and follows the same policy: "expand" takes in
the gap, "contract" and "drop" leave the span out. A bad line spoils its whole document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from acclimate.data.character_spans import CharacterSpan, sentences_of_text
from acclimate.data.problems import InputError, Place, shorten
from acclimate.data.readers.source import RawSentence, ReadingLog, Source, inner_name

_PIECE = "[0-9]{1,15} [0-9]{1,15}"  # no text is longer
_SPAN = re.compile(rf"(T[^\t]+)\t(\S+) ({_PIECE}(?:;{_PIECE})*)(?:\t(.*))?$")
_OTHER_KINDS = {
    "R": "relations",
    "E": "events",
    "A": "attributes",
    "M": "attributes",
    "N": "normalizations",
    "#": "notes",
    "*": "equivalences",
}


def read_brat(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    if source.is_stdin:
        raise InputError(
            "brat keeps text and annotation in two files; they cannot come from standard input.", file=source.name
        )
    pairs = _pairs_in(source.path) if source.path.is_dir() else [_pair_of(source.path)]
    if not pairs:
        raise InputError("the folder has no .ann files. brat expects NAME.txt and NAME.ann.", file=source.name)
    for text_path, annotation_path in pairs:
        try:
            sentences = _document(text_path, annotation_path, log)
        except InputError as error:
            log.refuse(error, file=str(annotation_path))
        else:
            yield from sentences


def _pairs_in(folder: Path) -> list[tuple[Path, Path]]:
    files = [path for path in folder.iterdir() if path.is_file()]
    annotations = sorted(path for path in files if inner_name(path.name).endswith(".ann"))
    if not annotations:
        return []
    pairs = [_pair_of(path) for path in annotations]
    known = {text for text, _ in pairs}
    # a text without annotation: its reading will say that the .ann is missing
    lonely = [path for path in files if inner_name(path.name).endswith(".txt") and path not in known]
    return sorted([*pairs, *(_pair_of(path) for path in lonely)])


def _pair_of(path: Path) -> tuple[Path, Path]:
    """The text and the annotation that belong to either of them; each may be compressed."""
    stem = inner_name(path.name).removesuffix(".txt").removesuffix(".ann")
    pair: list[Path] = []
    for suffix in (".txt", ".ann"):
        candidates = [path.with_name(f"{stem}{suffix}{packed}") for packed in ("", ".gz", ".xz")]
        pair.append(next((one for one in candidates if one.exists()), candidates[0]))
    return pair[0], pair[1]


def _document(text_path: Path, annotation_path: Path, log: ReadingLog) -> list[RawSentence]:
    text_source, annotation = Source(text_path), Source(annotation_path)
    for source, partner in ((text_source, annotation), (annotation, text_source)):
        if not source.path.exists():
            problem = f"the file is missing; {partner.path.name} needs it. (An .ann may be empty.)"
            raise InputError(problem, file=source.name)
        if source.faults:
            raise next(iter(source.faults.values()))
    text = text_source.text
    spans = []
    for number, line in enumerate(annotation.lines, start=1):
        if not line.strip():
            continue
        place = Place(annotation.name, number)
        if line[0] == "T":
            spans.append(_span(line, text, place))
        elif line[0] in _OTHER_KINDS:
            log.count(f"brat {_OTHER_KINDS[line[0]]} were passed over")
        else:
            problem = "this is no brat annotation: a line begins with T, R, E, A, M, N, # or *."
            raise InputError(problem, file=annotation.name, line=number, text=line)
    try:
        stem = inner_name(text_path.name).removesuffix(".txt")
        return sentences_of_text(text, spans, log, Place(text_source.name), stem, first_line=1)
    except InputError as error:  # the line that is at fault is one of the annotation's
        at = error.place.line
        shown = annotation.lines[at - 1] if at is not None else None
        raise InputError(error.problem, file=annotation.name, line=at, text=shown) from error


def _span(line: str, text: str, place: Place) -> CharacterSpan:
    match = _SPAN.match(line)
    if match is None:
        problem = "this is no text-bound annotation; expected T1<tab>LABEL START END<tab>TEXT."
        raise InputError(problem, file=place.file, line=place.line, text=line)
    pieces = [tuple(map(int, piece.split(" "))) for piece in match.group(3).split(";")]
    for start, end in pieces:
        if not start < end <= len(text):
            problem = f"{start} {end} does not fit into the text of {len(text)} characters (start before end)."
            raise InputError(problem, file=place.file, line=place.line, text=line)
    marked, noted = " ".join(text[start:end] for start, end in pieces), match.group(4)
    if noted is not None and marked.split() != noted.split():
        problem = f"the text there is {shorten(marked, 60)!r}: text and annotation do not belong together"
        raise InputError(
            f"{problem}, or the text's line ends were changed.", file=place.file, line=place.line, text=line
        )
    hull = min(start for start, _ in pieces), max(end for _, end in pieces)
    touching = all(before[1] == after[0] for before, after in pairwise(pieces))
    return CharacterSpan(*hull, match.group(2), place, gaps=not touching)
