"""The masks that a run logged: which words of which sentences were hidden, when, and by whom.

Domain tuning writes them to `records.jsonl` as `{"kind": "masks", "update": …, "policy": …, "rows": [{"words": […],
"hidden": […], "places": […], "drawn": …, "by": …}, …]}`. A log may be long: it is read line by
line and never held as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acclimate.analysis.run_records import read_records, record_files
from acclimate.data.problems import InputError


@dataclass(frozen=True, slots=True)
class MaskedRow:
    """One sentence of one update. `by` is the policy that chose its hidden words, which in a mixture may be either."""

    update: int
    policy: str
    words: tuple[str, ...]
    hidden: tuple[int, ...]  # numbers of words
    by: str
    places: tuple[int, ...] | None = None  # of each word, that could be drawn: its pieces, or 1; None: 1 for all
    drawn: int = 0  # places of the row that were drawn, where `places` is known

    @property
    def chances(self) -> list[float]:
        """How likely each word is to be hidden, in part at least, where as many places are drawn blindly."""
        places = self.places if self.places is not None else (1,) * len(self.words)
        drawn = self.drawn if self.places is not None else len(self.hidden)
        total = sum(places)
        known = {count: chance_to_be_drawn(count, drawn, total) for count in set(places)}
        return [known[count] for count in places]

    @property
    def hidden_words(self) -> tuple[str, ...]:
        return tuple(self.words[number] for number in self.hidden)


def chance_to_be_drawn(count: int, drawn: int, total: int) -> float:
    """That of `total` places, of which so many are drawn, one of these `count` at least is among them."""
    missed = 1.0
    for number in range(count):
        missed *= max(0, total - drawn - number) / (total - number)
    return 1 - missed


def read_masks(place: str | Path) -> Iterator[MaskedRow]:
    """The masked rows of a run folder, or of one `records.jsonl`, in the order of the log."""
    found = False
    for file in record_files(place):
        for row in _read_file(file):
            found = True
            yield row
    if not found:
        raise InputError(
            "no masks are logged here. Name the folder of a run whose recipe hides words and logs which ones.",
            file=place,
        )


def _read_file(file: Path) -> Iterator[MaskedRow]:
    # most lines are losses: not worth parsing
    for number, entry in read_records(file, lambda line: b'"masks"' in line):
        if entry.get("kind") == "masks":
            yield from _rows(entry, file, number)


def _rows(entry: Mapping[str, Any], file: Path, number: int) -> Iterator[MaskedRow]:
    try:
        update, policy = int(entry["update"]), str(entry["policy"])
        for row in entry["rows"]:
            yield _row(update, policy, row)
    except (KeyError, TypeError, ValueError) as error:
        problem = f"an entry of masks needs update, policy, and rows of words, hidden and by; wrong here: {error}."
        raise InputError(problem, file=file, line=number) from None


def _row(update: int, policy: str, row: Mapping[str, Any]) -> MaskedRow:
    words = row["words"]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"words {words!r}")
    hidden = sorted({int(number) for number in row["hidden"]})  # a word in several pieces is still hidden once
    if hidden and not 0 <= hidden[0] <= hidden[-1] < len(words):
        raise ValueError(f"hidden {row['hidden']} of {len(words)} words")
    by = str(row.get("by") or policy)
    if "places" not in row:
        return MaskedRow(update, policy, tuple(words), tuple(hidden), by)
    places, drawn = tuple(int(count) for count in row["places"]), int(row["drawn"])
    if len(places) != len(words) or min(places, default=0) < 0 or not bool(hidden) <= drawn <= sum(places):
        raise ValueError(f"places {row['places']} of {len(words)} words, of which {drawn} were drawn")
    return MaskedRow(update, policy, tuple(words), tuple(hidden), by, places, drawn)
