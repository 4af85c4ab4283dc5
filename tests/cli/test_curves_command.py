"""`acclimate curves`: how the training of a run went."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Answer, acclimate


def test_a_real_run_is_told(run: tuple[Path, Answer]) -> None:
    answer = acclimate("curves", run[0])
    assert "source-only, source (80 updates)" in answer.out
    assert "score: span F1 on source dev (8 sentences)" in answer.out
    assert answer.err == ""


def test_json_says_the_same(run: tuple[Path, Answer]) -> None:
    first, *rounds = acclimate("curves", run[0], "--json").json["stages"]
    assert (first["recipe"], first["stage"]) == ("source-only", "source")
    assert len(first["losses"]["tag"]["updates"]) == len(first["losses"]["tag"]["values"]) >= 8
    assert {stage["recipe"] for stage in rounds} == {"self-training"}


def test_picture_and_table_are_written(run: tuple[Path, Answer], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture, tables = tmp_path / "curves.svg", tmp_path / "tables"
    acclimate("curves", run[0], "--out", picture, "--csv", tables)
    assert picture.read_bytes().startswith(b"<?xml")
    assert (
        (tables / "curves.csv").read_text().startswith("recipe,stage,kind,name,update,value\nsource-only,source,loss")
    )


def test_a_run_that_is_not_there_is_refused() -> None:
    assert "nowhere: there is no such run folder" in acclimate("curves", "nowhere", code=1).err


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    assert "nothing is recorded here" in acclimate("curves", tmp_path, code=1).err


def test_another_kind_of_picture_is_refused_before_anything_is_read() -> None:
    pytest.importorskip("matplotlib")
    assert "must end in .png or .svg" in acclimate("curves", "nowhere", "--out", "a.jpg", code=1).err
