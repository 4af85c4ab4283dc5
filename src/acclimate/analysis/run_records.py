"""The records of a run: `records.jsonl`, one JSON object per line, read line by line.

Two of their kinds hold sentences. What masking hid: `{"kind": "masks", "update": …, "policy": …, "rows": [{"words":
[…], "hidden": […], "places": […], "drawn": …, "by": …}, …]}`. What was edited: `{"kind": "changes", "update": …, "by":
…, "rows": [{"words": […], "edits": [{"start": …, "end": …, "by": […]}, …]}, …]}`. An edit's `by` is null for hidden
words, and empty for words left out.
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


@dataclass(frozen=True, slots=True)
class MaskedRow:
    """One sentence of one update. `by` is the policy that chose its hidden words, which in a mixture may be either."""

    update: int
    policy: str
    words: tuple[str, ...]
    hidden: tuple[int, ...]  # numbers of words
    by: str
    places: tuple[int, ...] | None = None  # how many places of each word can be drawn: its pieces; None: 1 for all
    drawn: int = 0  # places of the row that were drawn, where `places` is known

    @property
    def probabilities(self) -> list[float]:
        """How likely a blind choice of as many places hides each word, at least in part."""
        places = self.places if self.places is not None else (1,) * len(self.words)
        drawn = self.drawn if self.places is not None else len(self.hidden)
        total = sum(places)
        known = {number: chance_to_be_drawn(number, drawn, total) for number in set(places)}
        return [known[number] for number in places]

    @property
    def hidden_words(self) -> tuple[str, ...]:
        return tuple(self.words[number] for number in self.hidden)


def chance_to_be_drawn(own: int, drawn: int, total: int) -> float:
    """The probability that `drawn` of `total` places include at least one of `own` places."""
    missed = 1.0
    for number in range(own):
        missed *= max(0, total - drawn - number) / (total - number)
    return 1 - missed


def read_masks(place: str | Path) -> Iterator[MaskedRow]:
    """The masked rows of a run folder, or of one `records.jsonl`, in the order of the log."""
    is_empty = True
    for file in record_files(place):
        for number, entry in read_records(file, lambda line: b'"masks"' in line):  # most lines are losses
            if entry.get("kind") == "masks":
                try:
                    update, policy = int(entry["update"]), str(entry["policy"])
                    for row in entry["rows"]:
                        yield _masked_row(update, policy, row)
                        is_empty = False
                except (KeyError, TypeError, ValueError) as error:
                    needs = "update, policy, and rows of words, hidden and by"
                    problem = f"an entry of masks needs {needs}; wrong here: {error}."
                    raise InputError(problem, file=file, line=number) from None
    if is_empty:
        raise InputError(
            "no masks are logged here. Name the folder of a run whose recipe hides words and logs which ones.",
            file=place,
        )


def _masked_row(update: int, policy: str, row: Mapping[str, Any]) -> MaskedRow:
    words = _words(row["words"])
    hidden = sorted({int(number) for number in row["hidden"]})  # a word in several pieces is still hidden once
    if hidden and not 0 <= hidden[0] <= hidden[-1] < len(words):
        raise ValueError(f"hidden {row['hidden']} of {len(words)} words")
    by = str(row.get("by") or policy)
    if "places" not in row:
        return MaskedRow(update, policy, words, tuple(hidden), by)
    places, drawn = tuple(map(int, row["places"])), int(row["drawn"])
    if len(places) != len(words) or min(places, default=0) < 0 or not bool(hidden) <= drawn <= sum(places):
        raise ValueError(f"places {row['places']} of {len(words)} words, of which {drawn} were drawn")
    return MaskedRow(update, policy, words, tuple(hidden), by, places, drawn)


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


def how(edit: WordEdit) -> How:
    if edit.by is None:
        return "hidden"
    return "swapped" if edit.by else "left out"


def read_changes(place: str | Path) -> Iterator[ChangedRow]:
    """The changed rows of a run folder, or of one `records.jsonl`, in the order of the log; none if none are there."""
    for file in record_files(place):
        for number, entry in read_records(file, lambda line: b'"changes"' in line):
            if entry.get("kind") == CHANGES:
                yield from _changed_rows(entry, file, number)


def _changed_rows(entry: Mapping[str, Any], file: Path, number: int) -> Iterator[ChangedRow]:
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
