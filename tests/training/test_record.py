"""The record of a run: one JSON object per line, forgotten back to where a resumed run begins."""

from __future__ import annotations

import json
from pathlib import Path

from acclimate.training.record import Record


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]


def test_rows_are_appended_and_read_again(tmp_path: Path) -> None:
    Record(tmp_path).add("update", "teach", 1, tag=0.5)
    record = Record(tmp_path)
    record.add("update", "teach", 2, tag=0.25)
    assert [row["update"] for row in lines(tmp_path)] == [1, 2]
    assert record.rows == lines(tmp_path)


def test_without_a_folder_rows_stay_in_memory() -> None:
    record = Record()
    record.add("evaluation", "teach", 1, score=1.0)
    assert record.rows[0]["score"] == 1.0


def test_what_came_after_the_point_of_return_is_forgotten(tmp_path: Path) -> None:
    record = Record(tmp_path)
    for stage, update in (("teach", 5), ("teach", 10), ("distil", 5)):
        record.add("update", stage, update)
    record.rewind("teach", 5)
    assert [(row["stage"], row["update"]) for row in lines(tmp_path)] == [("teach", 5), ("distil", 5)]


def test_a_line_that_was_cut_off_does_not_spoil_the_next_one(tmp_path: Path) -> None:
    for cut in (
        '{"kind": "upd',
        '{"kind": "update", "stage": "teach", "update": 9, "name": "é'.encode()[:-1].decode("latin1"),
    ):
        (tmp_path / "records.jsonl").unlink(missing_ok=True)
        Record(tmp_path).add("update", "teach", 1)
        with (tmp_path / "records.jsonl").open("a", encoding="latin1") as file:
            file.write(cut)
        Record(tmp_path).add("update", "teach", 2)
        assert [row["update"] for row in lines(tmp_path)] == [1, 2]


def test_a_last_line_without_its_end_is_kept_and_ended(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text('{"kind": "update", "stage": "teach", "update": 1}')
    Record(tmp_path).add("update", "teach", 2)
    assert [row["update"] for row in lines(tmp_path)] == [1, 2]


def test_odd_line_ends_inside_a_name_are_no_line_ends(tmp_path: Path) -> None:
    Record(tmp_path).add("evaluation", "teach", 1, selector="a\u2028b\x85c")
    assert Record(tmp_path).rows[0]["selector"] == "a\u2028b\x85c"


def test_tensorboard_gets_every_number(tmp_path: Path) -> None:
    import pytest

    pytest.importorskip("tensorboard")
    record = Record(tmp_path, tensorboard=True)
    record.add("update", "teach", 1, tag=0.5)
    record.close()
    assert list((tmp_path / "tensorboard").iterdir())
