"""The records of a run: `records.jsonl`, one JSON object per line, which may be long and is never held as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from acclimate.data.problems import InputError
from acclimate.model.storage import require_unchanged

RECORDS = "records.jsonl"
_TRAINING = "training"


def record_files(place: str | Path) -> list[Path]:
    """The logs of a run: in the folder itself, below `training` (domain-tune) or one for each recipe there (adapt)."""
    place = Path(place)
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise InputError("there is no such run folder.", file=place)
    places = (place / RECORDS, place / _TRAINING / RECORDS, *sorted(place.glob(f"{_TRAINING}/*/{RECORDS}")))
    found = [path for path in places if path.is_file()]
    if not found and (runs := runs_of_comparison(place)):
        raise InputError(f"this is a comparison. Name one of its runs, such as {runs[0]}.", file=place)
    return found


def runs_of_comparison(folder: Path) -> list[Path]:
    """The runs that `acclimate compare` left in its folder; none in any other folder."""
    return sorted(folder.glob("runs/*/seed-*"))


def recipe_of(file: Path) -> str | None:
    """The recipe whose log this is; None where a run has only one."""
    folder = file.absolute().parent
    return folder.name if folder.parent.name == _TRAINING else None


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
