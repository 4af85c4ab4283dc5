"""Collocations in a file: a line that says what it is, then one JSON object for each, the best first."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from acclimate.data.problems import InputError
from acclimate.data.readers.ledger import Ledger, Request
from acclimate.data.readers.opening import Source
from acclimate.data.readers.records import Fields, Record, expect_strings, json_records, require
from acclimate.data.writers import saving

_FORMAT, _VERSION = "acclimate collocations", 1


@dataclass(frozen=True, slots=True)
class Collocation:
    """Two or more words, how often they were seen together, and how strongly they hold together (in nats)."""

    words: tuple[str, ...]
    count: int
    score: float

    def __post_init__(self) -> None:
        if len(self.words) < 2 or not all(self.words):
            raise ValueError(f"a collocation is two or more words, none of them empty, not {list(self.words)}.")
        if self.count < 1 or not math.isfinite(self.score):
            raise ValueError(f"the count must be 1 at least and the score finite, not {self.count} and {self.score}.")


def write_collocations(entries: Sequence[Collocation], lower_case: bool, path: str | Path) -> None:
    head = {"format": _FORMAT, "version": _VERSION, "lower_case": lower_case, "collocations": len(entries)}
    rows = ({"words": entry.words, "count": entry.count, "score": entry.score} for entry in entries)
    lines = (json.dumps(row, ensure_ascii=False) for row in (head, *rows))
    saving.save(saving.encoded("".join(f"{line}\n" for line in lines)), path)


def read_collocations(path: str | Path) -> tuple[tuple[Collocation, ...], bool]:
    """The collocations of a file, the best first, and whether their words are in lower case."""
    source = Source(path)
    records = json_records(source, Ledger(Request()))
    lower_case, promised = _read_head(source, next(records, None))
    lines: dict[tuple[str, ...], int] = {}
    entries = []
    for record in records:
        with _pointing_at(source, record):
            entry = _read_entry(record.fields, lower_case)
            if entry.words in lines:
                raise ValueError(f"these words stand on line {lines[entry.words]} already.")
        lines[entry.words] = record.line
        entries.append(entry)
    if len(entries) != promised:
        problem = (
            f"line 1 promises {promised:,} collocations, and there are {len(entries):,}: the file is not whole. "
            "Copy it again, or, if you changed it yourself, write their number there."
        )
        raise InputError(problem, file=source.name, line=1)
    return tuple(entries), lower_case


def _read_head(source: Source, head: Record | None) -> tuple[bool, int]:
    """Whether the words are in lower case, and how many collocations follow."""
    if head is None or head.fields.get("format") != _FORMAT or head.fields.get("version") != _VERSION:
        problem = (
            f'a file of collocations begins with {{"format": "{_FORMAT}", "version": {_VERSION}, …}}; this does not. '
            "Write one with `acclimate data collocations`, or build_collocations(…).save(path)."
        )
        raise InputError(problem, file=source.name, line=1, text=None if head is None else head.spelled)
    with _pointing_at(source, head):
        return require(head.fields, "lower_case", bool), require(head.fields, "collocations", int)


def _read_entry(fields: Fields, lower_case: bool) -> Collocation:
    words = tuple(expect_strings(require(fields, "words", list), "'words'"))
    if lower_case and any(word != word.lower() for word in words):
        raise ValueError(f"line 1 says that all words are in lower case, but these are not: {list(words)}.")
    score = fields.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise ValueError(f"'score' should be a number, but is {score!r}.")
    return Collocation(words, require(fields, "count", int), float(score))


@contextmanager
def _pointing_at(source: Source, record: Record) -> Iterator[None]:
    """What is wrong with a line is told together with its place."""
    try:
        yield
    except ValueError as error:
        problem = f"{error} Correct the line, or build the collocations again."
        raise InputError(problem, file=source.name, line=record.line, text=record.spelled) from error
