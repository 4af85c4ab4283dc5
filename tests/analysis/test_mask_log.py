"""The log of masks: found, read line by line, and refused where it is damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mask_rows import row, write_log

from acclimate.analysis.run_records import MaskedRow, read_masks
from acclimate.data.problems import InputError
from acclimate.training.record import Record

ROWS = [row("the [cat] sat"), row("[a\u2028b] [c]", update=2, policy="mix-adversarial", by="adversarial")]
GOOD = {"words": ["a", "b"], "hidden": [1], "by": "random"}


def written(folder: Path, *entries: Any) -> Path:
    path = folder / "records.jsonl"
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
    return path


def masks(**changed: Any) -> dict[str, Any]:
    return {"kind": "masks", "update": 3, "policy": "random", "rows": [GOOD], **changed}


def test_a_run_folder_is_read_in_order(tmp_path: Path) -> None:
    assert list(read_masks(write_log(tmp_path, ROWS))) == ROWS


def test_what_the_record_writes_is_what_is_read(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.add("update", "domain-tuning", 7, masks=0.5)
    record.add("masks", "domain-tuning", 7, policy="random", rows=[GOOD])
    assert list(read_masks(tmp_path)) == [MaskedRow(7, "random", ("a", "b"), (1,), "random")]
    assert list(read_masks(tmp_path / "records.jsonl")) == list(read_masks(str(tmp_path)))


def test_hidden_words_are_the_words_of_these_numbers() -> None:
    assert ROWS[1].hidden_words == ("a\u2028b", "c")


def test_the_policy_chose_the_row_unless_it_says_otherwise(tmp_path: Path) -> None:
    (found,) = read_masks(written(tmp_path, masks(rows=[{"words": ["a"], "hidden": [0, 0]}])))
    assert (found.by, found.hidden) == ("random", (0,))


def test_a_folder_without_masks_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {"kind": "update", "update": 1}, masks(rows=[]))
    with pytest.raises(InputError, match=r"no masks are logged here\. Name the folder of a run"):
        list(read_masks(tmp_path))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: there is no such run folder"):
        list(read_masks(tmp_path / "nowhere"))


def test_the_last_line_of_a_killed_run_may_be_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path, masks())
    with path.open("a", encoding="utf-8") as file:
        file.write('{"kind": "masks", "upd')
    assert len(list(read_masks(path))) == 1


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, masks())
    path.write_text('{"kind": "masks", "upd\n' + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(InputError, match=r"records.jsonl, line 1: this line is not JSON.*'\{\"kind\": \"masks\""):
        list(read_masks(path))


@pytest.mark.parametrize(
    "entry",
    [
        masks(rows=[{**GOOD, "hidden": [2]}]),
        masks(rows=[{**GOOD, "hidden": [-1]}]),
        masks(rows=[{**GOOD, "words": None}]),
        masks(rows=[{**GOOD, "words": "ab"}]),
        masks(rows=[{**GOOD, "words": [1, 2]}]),
        masks(rows=[{**GOOD, "places": [1, 2]}]),
        masks(rows=[{**GOOD, "places": [1], "drawn": 1}]),
        masks(rows=[{**GOOD, "places": [1, -2], "drawn": 1}]),
        masks(rows=[{**GOOD, "places": [1, 2], "drawn": 4}]),
        masks(rows=[{**GOOD, "places": [1, 2], "drawn": 0}]),
        masks(rows=["the cat"]),
        masks(rows=None),
        masks(update="soon"),
        {"kind": "masks", "rows": []},
    ],
)
def test_an_entry_that_lacks_something_is_named(entry: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2: an entry of masks needs update, policy, and rows"):
        list(read_masks(written(tmp_path, masks(), entry)))
