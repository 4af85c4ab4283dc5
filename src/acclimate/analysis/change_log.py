"""The changes that a run logged: which words of which sentences were hidden, swapped or left out, and when.

A run writes them to `records.jsonl` as `{"kind": "changes", "update": …, "by": …, "rows": [{"words": […], "edits":
[{"start": …, "end": …, "by": […]}, …]}, …]}`. An edit's `by` is null for hidden words, and empty for words left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from acclimate.analysis.run_records import read_records, record_files
from acclimate.data.problems import InputError
from acclimate.methods.word_edits import CHANGES, WordEdit

How = Literal["swapped", "hidden", "left out"]


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """One sentence as it was, and what became of it. `by` is what changed it: `masked noise`, `anchors`, `twins`."""

    stage: str
    update: int
    by: str
    words: tuple[str, ...]
    edits: tuple[WordEdit, ...]  # in order, none into another
    side: str | None = None

    @property
    def hows(self) -> set[How]:
        return {how(edit) for edit in self.edits}


def how(edit: WordEdit) -> How:
    if edit.by is None:
        return "hidden"
    return "swapped" if edit.by else "left out"


def read_changes(place: str | Path) -> Iterator[ChangedRow]:
    """The changed rows of a run folder, or of one `records.jsonl`, in the order of the log; none if none are there."""
    for file in record_files(place):
        for number, entry in read_records(file, lambda line: b'"changes"' in line):
            if entry.get("kind") == CHANGES:
                yield from _rows(entry, file, number)


def _rows(entry: Mapping[str, Any], file: Path, number: int) -> Iterator[ChangedRow]:
    try:
        about = str(entry["stage"]), int(entry["update"]), str(entry["by"])
        for row in entry["rows"]:
            words = _words(row["words"])
            yield ChangedRow(*about, words, tuple(_edits(row["edits"], len(words))), row.get("side"))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"an entry of changes needs stage, update, by, and rows of words and edits; wrong here: {error}."
        raise InputError(problem, file=file, line=number) from None


def _edits(found: Any, length: int) -> Iterator[WordEdit]:
    reached = 0
    for edit in found:
        start, end, by = int(edit["start"]), int(edit["end"]), edit["by"]
        if not reached <= start <= end <= length:
            raise ValueError(f"an edit of words {start} to {end}, of {length} words, after word {reached}")
        reached = end
        yield WordEdit(start, end, None if by is None else _words(by), edit.get("label"))


def _words(found: Any) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise TypeError(f"words {found!r}")
    return tuple(found)
