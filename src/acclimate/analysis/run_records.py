"""The records of a run: `records.jsonl`, one JSON object per line, read line by line.

Of their kinds, the changes are read here: `{"kind": "changes", "update": …, "by": …, "rows": [{"words": […], "edits":
[{"start": …, "end": …, "by": […]}, …]}, …]}`. An edit's `by` is null for hidden words, and empty for words left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from acclimate.data.problems import InputError
from acclimate.layout import RECORDS, TRAINING, runs_of_comparison
from acclimate.methods.word_edits import CHANGES, WordEdit
from acclimate.model.storage import require_unchanged


def record_files(place: str | Path) -> list[Path]:
    """The logs of a run: in the folder itself, below `training` (domain-tune) or one for each recipe there (adapt)."""
    place = Path(place)
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise InputError("there is no such run folder.", file=place)
    places = (place / RECORDS, place / TRAINING / RECORDS, *sorted(place.glob(f"{TRAINING}/*/{RECORDS}")))
    files = [path for path in places if path.is_file()]
    if not files and (runs := runs_of_comparison(place)):
        raise InputError(f"this is a comparison. Name one of its runs, such as {runs[0]}.", file=place)
    return files


def recipe_of(file: Path) -> str | None:
    """The recipe whose log this is; None where a run has only one."""
    folder = file.absolute().parent
    return folder.name if folder.parent.name == TRAINING else None


def read_records(
    file: Path, is_wanted: Callable[[bytes], bool] = lambda line: True
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The entries with the numbers of their lines. What `is_wanted` turns down is not parsed. The log of a training
    that has ended is checked first."""
    require_unchanged(file)
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if is_wanted(line):
                yield number, _parsed(line, file, number)


def _parsed(line: bytes, file: Path, number: int) -> Mapping[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        if not line.endswith(b"\n"):
            return {}  # a killed run may leave its last line cut off
        text = line.decode("utf-8", "replace").strip()
        if number == 1 and file.name != RECORDS:
            problem = f"this is no folder of a run, and no {RECORDS} of one: its first line is not JSON."
            raise InputError(problem, file=file, text=text) from None
        raise InputError("this line is not JSON: the log is damaged.", file=file, line=number, text=text) from None
    return entry if isinstance(entry, dict) else {}


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
            words, edits, reached = _words(row["words"]), [], 0
            for edit in row["edits"]:
                start, end, by = int(edit["start"]), int(edit["end"]), edit["by"]
                if not reached <= start <= end <= len(words):
                    raise ValueError(f"an edit of words {start} to {end}, of {len(words)} words, after word {reached}")
                reached = end
                edits.append(WordEdit(start, end, None if by is None else _words(by), edit.get("label")))
            yield ChangedRow(*about, words, tuple(edits), row.get("side"))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"an entry of changes needs stage, update, by, and rows of words and edits; wrong here: {error}."
        raise InputError(problem, file=file, line=number) from None


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"words {value!r}")
    return tuple(value)
