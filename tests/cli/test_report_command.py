"""`acclimate report` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Answer, Files, acclimate


def test_the_page_goes_into_the_folder_of_the_run(tagger: Path) -> None:
    answer = acclimate("report", tagger, "--quick")
    place = tagger / "report.html"
    assert answer.out == f"report: {place}\n"
    first = place.read_bytes()
    assert first.startswith(b"<!DOCTYPE html>")
    acclimate("report", tagger, "--quick", "-q")
    assert place.read_bytes() == first
    place.unlink()


def test_the_page_goes_where_it_is_wanted(tagger: Path, tmp_path: Path) -> None:
    place = tmp_path / "pages" / "mine.html"
    found = acclimate("report", tagger, "--quick", "--out", place, "--title", "My <run>", "--json").json
    assert found == {"report": str(place), "bytes": place.stat().st_size}
    assert "<h1>My &lt;run&gt;</h1>" in place.read_text(encoding="utf-8")
    assert [path.name for path in place.parent.iterdir()] == ["mine.html"]


def test_a_run_names_the_command(run: tuple[Path, Answer], files: Files, tmp_path: Path) -> None:
    words = ["--source", files.news, "--recipe", "source-only", "--encoder", "character-cnn-lstm"]
    folder = tmp_path / "run"
    answer = acclimate("adapt", *words, "--set", "training.updates=2", "--out", folder)
    assert f"acclimate report {folder}" in answer.out
    page = acclimate("report", folder, "--quick")
    assert page.code == 0, "a run without a target has a page, too"


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ((), "there is no such folder"),
        (("",), "there is no run in this folder"),
        (("training/run.yaml",), "this run is not finished"),
        (("training/trial.json",), "this run is not finished"),
        (("runs/datnet/seed-1/training/trial.json",), "this comparison is not finished"),
    ],
)
def test_a_folder_without_anything_to_report_is_told_in_one_sentence(
    tmp_path: Path, made: tuple[str, ...], said: str
) -> None:
    folder = tmp_path / "run"
    for name in made:
        place = folder / name / "x" if not name else folder / name
        place.parent.mkdir(parents=True)
        place.write_text("{}", encoding="utf-8")
    answer = acclimate("report", folder, code=1)
    assert answer.err.startswith(f"error: {folder}: {said}")
    assert answer.err.count("\n") == 1


def test_a_file_is_no_folder(files: Files) -> None:
    assert "this is a file" in acclimate("report", files.news, code=1).err


def test_a_folder_is_no_file_to_write(tagger: Path, tmp_path: Path) -> None:
    assert f"--out {tmp_path} is a folder" in acclimate("report", tagger, "--out", tmp_path, code=2).err


def test_a_number_of_sentences_below_none_is_refused(tagger: Path) -> None:
    assert "sentences" in acclimate("report", tagger, "--sentences", "-1", code=2).err
