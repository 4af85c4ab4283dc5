"""`acclimate report --only masks`: what runs hid, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Answer, Files, acclimate

UNTAGGED = ["--set", "parts_of_speech=none"]
WORDS = ["omg", "Anna", "is", "in", "Paris", "!!!"]


def masks(*words: object, code: int = 0) -> Answer:
    return acclimate("report", *words, "--only", "masks", code=code)


def log(folder: Path, policy: str, by: list[str], hidden: list[int]) -> Path:
    rows: list[dict[str, Any]] = [{"words": WORDS, "hidden": hidden, "by": name} for name in by]
    entries = [{"kind": "masks", "update": update, "policy": policy, "rows": rows} for update in (10, 20, 30)]
    place = folder / "training" / "adversarial-masking"
    place.mkdir(parents=True)
    (place / "records.jsonl").write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [
        log(tmp_path / "a", "random", ["random"], [2]),
        log(tmp_path / "b", "mix-adversarial", ["random", "adversarial"], [0, 1]),
    ]


def corpora(files: Files) -> list[object]:
    return ["--set", f"source={files.news}", "--set", f"target={files.tweets}", *UNTAGGED]


def test_runs_are_shown_side_by_side(runs: list[Path], files: Files) -> None:
    answer = masks(*runs, *corpora(files), "--set", "every=10")
    assert [line.split()[:2] for line in answer.out.splitlines()[2:5]] == [
        ["a", "random"],
        ["b", "mix-adversarial"],
        ["b", "random"],
    ]
    assert "density ratio" in answer.out
    assert answer.err == ""


def test_json_says_the_same(runs: list[Path], files: Files) -> None:
    found = masks(*runs, *corpora(files), "--set", "every=10", "--json").json["masks"]
    assert [run["policy"] for run in found["runs"]] == ["random", "mix-adversarial"]
    assert found["runs"][1]["by"]["adversarial"]["unseen"]["hidden"] == 0.5
    assert len(found["runs"][0]["periods"]) == 3


def test_the_shipped_tagger_names_parts_of_speech(runs: list[Path]) -> None:
    shares = masks(runs[0], "--json").json["masks"]["runs"][0]["parts_of_speech"]
    assert shares["others"]["hidden"] == 1.0  # "is" is an auxiliary
    assert shares["PROPN"]["overall"] == pytest.approx(1 / 3)


def test_tables_are_written(runs: list[Path], files: Files, tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    masks(*runs, *corpora(files), "--set", f"csv={tables}")
    assert sorted(path.name for path in tables.iterdir()) == [
        *("overview.csv", "parts-of-speech.csv", "periods.csv"),
    ]


def test_runs_of_one_name_are_told_apart(runs: list[Path], tmp_path: Path) -> None:
    other = log(tmp_path / "more" / "a", "random", ["random"], [2])
    found = masks(runs[0], other, *UNTAGGED, "--json").json["masks"]
    assert [run["run"] for run in found["runs"]] == [f"{tmp_path.name}/a", "more/a"]


def test_a_run_without_masks_is_refused(files: Files, tmp_path: Path) -> None:
    answer = masks(tmp_path, *UNTAGGED, code=1)
    assert f"{tmp_path}: no masks are logged here" in answer.err


def test_a_target_alone_says_nothing(runs: list[Path]) -> None:
    assert "target=… needs --set source=" in masks(runs[0], "--set", "target=social", code=2).err
