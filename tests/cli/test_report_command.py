"""`acclimate report` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Answer, Files, acclimate

QUICK = ("--set", "quick=true")


def test_the_page_goes_into_the_folder_of_the_run(tagger: Path) -> None:
    answer = acclimate("report", tagger, *QUICK)
    place = tagger / "report.html"
    assert answer.out == f"report: {place}\n"
    first = place.read_bytes()
    assert first.startswith(b"<!DOCTYPE html>")
    acclimate("report", tagger, *QUICK)
    assert place.read_bytes() == first
    place.unlink()


def test_the_page_goes_where_it_is_wanted(tagger: Path, tmp_path: Path) -> None:
    place = tmp_path / "pages" / "mine.html"
    found = acclimate("report", tagger, *QUICK, "--out", place, "--set", "title=My <run>", "--json").json
    assert found == {"report": str(place), "bytes": place.stat().st_size}
    assert "<h1>My &lt;run&gt;</h1>" in place.read_text(encoding="utf-8")
    assert [path.name for path in place.parent.iterdir()] == ["mine.html"]


def test_a_run_names_the_command(run: tuple[Path, Answer], files: Files, tmp_path: Path) -> None:
    words = ["--source", files.news, "--recipe", "source-only", "--encoder", "character-cnn-lstm"]
    folder = tmp_path / "run"
    answer = acclimate("adapt", *words, "--set", "training.updates=2", "--out", folder)
    assert f"acclimate report {folder}" in answer.out
    page = acclimate("report", folder, *QUICK)
    assert page.code == 0, "a run without a target has a page, too"


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ((), "there is no such folder"),
        (("",), "there is no run in this folder"),
        (("training/run.json",), "this run is not finished"),
        (("runs/datnet/seed-1/training/run.json",), "this comparison is not finished"),
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
    assert "sentences" in acclimate("report", tagger, "--set", "sentences=-1", code=2).err


def test_a_page_can_have_some_parts_only(tagger: Path, tmp_path: Path) -> None:
    place = tmp_path / "some.html"
    acclimate("report", tagger, "--only", "settings,scores", "--out", place)
    page = place.read_text(encoding="utf-8")
    assert [f'<section id="{name}">' in page for name in ("scores", "settings", "labels")] == [True, True, False]
    answer = acclimate("report", tagger, "--only", "score", "--out", place, code=2)
    assert "has the parts scores, labels" in answer.err


def test_several_parts_are_printed_one_after_the_other(run: tuple[Path, Answer], files: Files) -> None:
    words = ("report", run[0], "--only", "curves,confidence", "--set", f"gold={files.gold}")
    assert list(acclimate(*words, "--json").json) == ["curves", "confidence"]
    assert "confidence by term" in acclimate(*words).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "scores"), "For a page of other parts, name it with --out"),
        (("--set", "csv=tables"), "go with --only"),
        (("other",), "A page is of one folder"),
        (("--set", "sentence=1"), "Did you mean sentences?"),
    ],
)
def test_what_cannot_be_meant_is_refused(tagger: Path, words: tuple[str, ...], said: str) -> None:
    assert said in acclimate("report", tagger, *words, code=2).err
