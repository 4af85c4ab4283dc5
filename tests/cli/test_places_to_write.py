"""A place that cannot be written to is refused before any work is done, by every command that writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import QUICK, Files, acclimate

from acclimate.cli.outputs import check_file_to_write, check_folder_to_write
from acclimate.settings import UsageError

FOLDERS = {
    "adapt": ["adapt", "--source", "NEWS", *QUICK, "--out"],
    "compare": ["compare", "--source", "NEWS", "--recipes", "source-only", *QUICK, "--out"],
    "domain-tune": ["encoder", "domain-tune", "--text", "TWEETS", "--out"],
    "pretrain": ["encoder", "pretrain", "--text", "TWEETS", "--out"],
    "reproduce": ["papers", "reproduce", "mat-figure2", "--scale", "small", "--out"],
    "split": ["data", "split", "NEWS", "--out"],
}
FILES = {
    "report": ["report", "TAGGER", "--out"],
    "select": ["data", "select", "--like", "TWEETS", "--from", "TWEETS", "--top", "2", "--out"],
    "augment": ["data", "augment", "--source", "NEWS", "--target", "GOLD", "--out"],
    "weak-label": ["data", "weak-label", "--concepts", "clinical", "--text", "TWEETS", "--out"],
    "collocations": ["data", "collocations", "TWEETS", "--out"],
    "predict": ["predict", "TAGGER", "TWEETS", "--out"],
    "convert": ["data", "convert", "GOLD"],
    "evaluate --predictions": ["evaluate", "TAGGER", "GOLD", "--predictions"],
    "evaluate --errors": ["evaluate", "TAGGER", "GOLD", "--errors"],
    "report --only": ["report", "TAGGER", "--only", "scores", "--out"],
}


@pytest.fixture
def said(files: Files, tagger: Path, here: Path):
    """What a command says about a place."""
    names = {"NEWS": files.news, "TWEETS": files.tweets, "GOLD": files.gold, "TAGGER": tagger}

    def said(words: list[str], place: Path) -> str:
        answer = acclimate(*(names.get(word, word) for word in words), place, code=2)
        assert answer.out == ""
        assert list(here.iterdir()) == []
        return answer.err

    return said


@pytest.mark.parametrize("command", FOLDERS)
def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(
    command: str, said, files: Files, tmp_path_factory: pytest.TempPathFactory
) -> None:
    option = FOLDERS[command][-1]
    expected = f"error: {option} {files.dev / 'below' / 'a'}: nothing can be written in {files.dev}, which is a file. "
    assert said(FOLDERS[command], files.dev / "below" / "a") == f"{expected}Choose another {option}.\n"
    file = tmp_path_factory.mktemp("taken") / "file"  # a name without an ending, as folders have
    file.touch()
    assert f"{file} is a file; " in said(FOLDERS[command], file)


@pytest.mark.parametrize("command", FILES)
def test_a_file_that_cannot_be_made_is_named_with_what_to_do(command: str, said, files: Files) -> None:
    place = files.dev / "below" / "a.svg"
    option = "OUT" if command == "convert" else FILES[command][-1]
    expected = f"error: {option} {place}: nothing can be written in {files.dev}, which is a file. "
    assert said(FILES[command], place) == f"{expected}Name a file elsewhere.\n"


def test_missing_permission_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match=f"nothing can be written in {tmp_path}, for want of permission. Choose"):
        check_folder_to_write("--out", tmp_path / "a" / "b")
    with pytest.raises(UsageError, match=f"nothing can be written in {tmp_path}, for want of permission. Name a file"):
        check_file_to_write("--out", tmp_path / "a" / "b.txt", overwrite=True)


@pytest.fixture
def nothing_can_be_made(monkeypatch: pytest.MonkeyPatch) -> str:
    """As in /proc: whoever asks for permission has it, and yet no file and no folder can be made."""
    if Path("/proc/self").exists():
        return "/proc"

    def refuse(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "mkdir", refuse)
    monkeypatch.setattr(Path, "touch", refuse)
    return "/"


@pytest.mark.parametrize("command", [*FOLDERS, *FILES])
def test_a_place_that_only_looks_writable_is_refused_before_any_work(
    command: str, said, nothing_can_be_made: str
) -> None:
    words = (FOLDERS | FILES)[command]
    for place in ("foo/x.svg", "x.svg"):
        told = said(words, Path(nothing_can_be_made, place))
        assert told.startswith("error: ")
        assert f"cannot be written in {nothing_can_be_made} (" in told or "for want of permission" in told


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="File name too long"):
        check_file_to_write("--out", tmp_path / f"{'a' * 250}.conll", overwrite=False)
    assert list(tmp_path.iterdir()) == []


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    check_file_to_write("--out", tmp_path / "a" / "b.txt", overwrite=False)
    check_folder_to_write("--out", tmp_path / "a" / "b")
    check_file_to_write("--out", tmp_path / "b.txt", overwrite=False)
    check_folder_to_write("--out", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_can_be_made_passes(tmp_path: Path) -> None:
    check_folder_to_write("--out", tmp_path / "a" / "b", "a run")
    check_file_to_write("--out", tmp_path / "a" / "b.txt", overwrite=False)
    check_file_to_write("--out", None, overwrite=False)


WRITES_A_CORPUS = {
    "subset": ["data", "subset", "HERE", "OUT", "--sentences", "3"],
    "convert": ["data", "convert", "HERE", "OUT"],
    "evaluate --predictions": ["evaluate", "TAGGER", "HERE", "--predictions", "OUT"],
    "evaluate --errors": ["evaluate", "TAGGER", "HERE", "--errors", "OUT"],
    "predict": ["predict", "TAGGER", "HERE", "--out", "OUT"],
    "augment": ["data", "augment", "--source", "NEWS", "--target", "HERE", "--out", "OUT"],
    "weak-label": ["data", "weak-label", "--concepts", "clinical", "--text", "HERE", "--out", "OUT"],
    "collocations": ["data", "collocations", "HERE", "--out", "OUT"],
    "select": ["data", "select", "--like", "NEWS", "--from", "HERE", "--top", "2", "--out", "OUT"],
}


@pytest.fixture
def given(files: Files, tagger: Path, here: Path):
    """The words of a command that reads a copy of the gold file, with OUT as asked."""
    (here / "gold.conll").write_bytes(files.gold.read_bytes())
    names = {"HERE": "gold.conll", "NEWS": files.news, "TAGGER": tagger}
    return lambda command, out: [out if w == "OUT" else names.get(w, w) for w in WRITES_A_CORPUS[command]]


@pytest.mark.parametrize("command", WRITES_A_CORPUS)
def test_a_file_that_is_there_is_replaced_only_when_that_is_asked_for(command: str, given, here: Path) -> None:
    (here / "mine.conll").write_text("mine", encoding="utf-8")
    answer = acclimate(*given(command, "mine.conll"), code=2)
    assert "mine.conll is there already. Name another place, or replace it with --overwrite." in answer.err
    assert (here / "mine.conll").read_text(encoding="utf-8") == "mine"
    if command != "select":  # it has tests of its own
        acclimate(*given(command, "mine.conll"), "--overwrite")
        assert (here / "mine.conll").read_text(encoding="utf-8") != "mine"


@pytest.mark.parametrize("command", WRITES_A_CORPUS)
def test_what_is_read_is_never_replaced(command: str, given, files: Files, here: Path) -> None:
    (here / "other.conll").symlink_to("gold.conll")
    for out in ("gold.conll", "./gold.conll", "other.conll"):
        answer = acclimate(*given(command, out), "--overwrite", code=2)
        assert f"{Path(out).name} is read by this command, and would be lost." in answer.err
    assert (here / "gold.conll").read_bytes() == files.gold.read_bytes()


def test_a_split_checks_every_part_before_it_writes_one(files: Files, here: Path) -> None:
    (here / "test.conll").write_text("mine", encoding="utf-8")
    assert "--out test.conll is there already" in acclimate("data", "split", files.news, "--out", ".", code=2).err
    assert [path.name for path in here.iterdir()] == ["test.conll"]
    acclimate("data", "split", files.news, "--out", ".", "--overwrite")
    assert sorted(path.name for path in here.iterdir()) == ["dev.conll", "test.conll", "train.conll"]
    assert (
        "is read by this command" in acclimate("data", "split", "train.conll", "--out", ".", "--overwrite", code=2).err
    )


def test_the_partner_of_a_pair_is_not_replaced_either(files: Files, here: Path) -> None:
    (here / "a.txt").write_text("Anna left .\n", encoding="utf-8")
    assert "a.txt is read by this command" in acclimate("data", "convert", "a.txt", "a.ann", "--overwrite", code=2).err
    assert "a.txt is there already" in acclimate("data", "convert", files.gold, "a.ann", code=2).err


def test_a_folder_that_holds_something_becomes_brat_only_when_that_is_asked_for(files: Files, here: Path) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "notes.txt").write_text("mine", encoding="utf-8")
    answer = acclimate("data", "convert", files.gold, "mine", code=2)
    assert "written as brat (a .txt and an .ann for each document), and it holds 1 file already." in answer.err
    answer = acclimate("data", "convert", files.gold, "mine", "--overwrite")
    assert "→ mine, as brat: 10 sentences" in answer.err
    assert "mine holds 1 file. Those of other names stay there" in answer.err
    assert (here / "mine" / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert (
        "holds what is read by this command" in acclimate("data", "convert", "mine", "mine/", "--overwrite", code=2).err
    )


@pytest.mark.parametrize("command", ["subset", "convert", "evaluate --predictions", "predict", "augment", "weak-label"])
def test_what_else_a_folder_holds_stays_and_is_told(command: str, given, here: Path) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "notes.txt").write_text("mine", encoding="utf-8")
    assert "mine holds 1 file. Those of other names stay there" in acclimate(*given(command, "mine"), "--overwrite").err
    assert (here / "mine" / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert list((here / "mine").glob("*.ann"))


@pytest.mark.skipif(os.name != "posix", reason="devices and pipes")
def test_devices_and_pipes_are_written_into(files: Files, here: Path) -> None:
    acclimate("data", "convert", files.gold, "/dev/null")
    assert not Path("/dev/null").is_file()
    os.mkfifo(here / "pipe.any")
    with subprocess.Popen(["cat", "pipe.any"], stdout=subprocess.PIPE, cwd=here) as reader:
        acclimate("data", "convert", files.gold, "pipe.any")
        assert reader.communicate()[0] == files.gold.read_bytes()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no /dev/stdout")
def test_dev_stdout_is_standard_output_even_where_that_is_a_file(files: Files, here: Path) -> None:
    command = [sys.executable, "-m", "acclimate", "data", "convert", files.gold, "/dev/stdout"]
    with (here / "redirected").open("wb") as file:
        subprocess.run(command, stdout=file, check=True)
    assert (here / "redirected").read_bytes() == files.gold.read_bytes()
