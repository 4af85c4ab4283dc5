"""`acclimate data select`: its options, its words, and what it refuses."""

from __future__ import annotations

import gzip
import io
import shlex
from pathlib import Path

import pytest
from command_line import Files, acclimate
from rich.console import Console

from acclimate.cli.outputs import reading_bar

LINES = ["Anna flew to Oslo .", "zebra crossing", "Anna flew to Oslo .", "Shares of Acme fell", "It rained all day ."]


@pytest.fixture
def huge(tmp_path: Path) -> list[Path]:
    """Raw text in two files."""
    files = [tmp_path / "1.txt", tmp_path / "2.txt.gz"]
    files[0].write_text("\n".join(LINES), encoding="utf-8")
    files[1].write_bytes(gzip.compress(b"nothing like it\nAcme opens an office\n"))
    return files


def test_the_lines_most_like_the_target_are_written_best_first(files: Files, huge: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "extra.txt"
    answer = acclimate("data", "select", "--like", files.news, "--from", *huge, "--top", 2, "--out", out)
    assert out.read_text(encoding="utf-8").splitlines() == ["It rained all day .", "Acme opens an office"]
    assert f"{out}: 2 of 7 lines, scores 1 to 1; 4.5 words a line, the target has " in answer.out
    assert "100 % read" in answer.err


def test_the_next_command_runs_as_it_is_printed(
    files: Files, huge: list[Path], tmp_path: Path, bert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = acclimate("data", "select", "--like", files.tweets, "--from", *huge, "--top", 2, "--out", "my extra.txt")
    (line,) = (line for line in answer.out.splitlines() if line.startswith("use it: "))
    words = shlex.split(line.removeprefix("use it: "))[1:]
    assert words == ["encoder", "domain-tune", "--text", str(files.tweets), "my extra.txt", "--out", "tuned-encoder"]
    acclimate(*words, "--encoder", bert, "--set", "updates=1", "--masking", "random", "-q")
    assert (tmp_path / "tuned-encoder" / "config.json").is_file()


def test_lines_of_quite_another_length_are_told_even_when_quiet(files: Files, tmp_path: Path) -> None:
    huge, out = tmp_path / "huge.txt", tmp_path / "out"
    long = "x ".join(["It rained all day .", "Anna", "Acme opens an office in", "left", "yesterday ."] * 3)
    huge.write_text(f"It rained all day .\n{long}\n", encoding="utf-8")
    words = ("data", "select", "--like", files.news, "--from", huge, "--top", 1, "--out", out, "--overwrite", "-q")
    assert "words a line" not in acclimate(*words).err
    assert (
        "--set measure=overlap, --set shortest=N and --set longest=N"
        in acclimate(*words, "--set", "measure=jaccard").err
    )


def test_several_texts_may_follow_one_option(files: Files, huge: list[Path], tmp_path: Path) -> None:
    for name, words in {
        "a": ("--like", files.news, files.tweets, "--from", *huge, "--top", 3),
        "b": ("--from", huge[0], "--top=3", "--from", huge[1], f"--like={files.news}", files.tweets),
    }.items():
        acclimate("data", "select", *words, "--out", tmp_path / name, "-q")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    stray = acclimate(
        "data", "select", "--from", huge[0], "--like", files.news, "--top", 3, huge[1], "--out", "x", code=2
    )
    assert "unexpected extra argument" in stray.err


def test_what_is_compressed_is_written_so_and_quietly(files: Files, huge: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "extra.txt.gz"
    answer = acclimate("data", "select", "--like", files.news, "--from", *huge, "--top", 3, "--out", out, "--quiet")
    assert answer.err == ""
    assert f"{out}: 3 of 7 lines" in answer.out
    assert "MB/s" in answer.out
    assert len(gzip.decompress(out.read_bytes()).splitlines()) == 3


def test_fewer_lines_than_asked_for_are_told_even_when_quiet(files: Files, huge: list[Path], tmp_path: Path) -> None:
    answer = acclimate(
        "data", "select", "--like", files.news, "--from", *huge, "--top", 100, "--out", tmp_path / "x", "-q"
    )
    assert "--top 100 is more than there is: all 6 different lines that fit were taken." in answer.err
    assert len((tmp_path / "x").read_text(encoding="utf-8").splitlines()) == 6


def test_a_bundled_corpus_a_measure_limits_and_scores(huge: list[Path], tmp_path: Path) -> None:
    words = [
        "--set",
        "measure=overlap",
        "--set",
        "shortest=3",
        "--set",
        "longest=4",
        "--set",
        "lower_case=false",
        "--set",
        "reading.pre_split=true",
        "--set",
        "jobs=1",
    ]
    place = ["--out", tmp_path / "x", "--set", f"scores={tmp_path / 'scores.tsv'}"]
    acclimate("data", "select", "--like", "news", "--from", *huge, "--top", 9, *words, *place, "-q")
    texts = (tmp_path / "x").read_text(encoding="utf-8").splitlines()
    assert sorted(texts) == ["Acme opens an office", "Shares of Acme fell", "nothing like it"]
    head, *rows = (tmp_path / "scores.tsv").read_text(encoding="utf-8").splitlines()
    assert head == "score\tfile\tline"
    assert {row.split("\t", 1)[1] for row in rows} == {f"{huge[0]}\t4", f"{huge[1]}\t1", f"{huge[1]}\t2"}


def test_a_file_that_is_there_is_not_overwritten_unasked(files: Files, huge: list[Path], tmp_path: Path) -> None:
    words = ["data", "select", "--like", files.news, "--from", *huge, "--top", 1]
    (tmp_path / "x").write_text("before", encoding="utf-8")
    assert "is there already" in acclimate(*words, "--out", tmp_path / "x", code=2).err
    scores = ("--set", f"scores={tmp_path / 'x'}")
    assert "--set scores" in acclimate(*words, "--out", tmp_path / "y", *scores, code=2).err
    assert "is a folder: name a file" in acclimate(*words, "--out", tmp_path, code=2).err
    assert "is read by this command" in acclimate(*words, "--out", huge[0], "--overwrite", code=2).err
    assert (tmp_path / "x").read_text(encoding="utf-8") == "before"
    acclimate(*words, "--out", tmp_path / "x", "--overwrite", "-q")
    assert (tmp_path / "x").read_text(encoding="utf-8") == "It rained all day .\n"


def test_text_that_cannot_be_read_is_named_with_its_line(files: Files, tmp_path: Path) -> None:
    bad = tmp_path / "latin1.txt"
    bad.write_bytes(b"a line of words\nun caf\xe9\n")
    words = ["--top", 1, "--out", tmp_path / "x"]
    assert (
        f"{bad}, line 2: byte 0xe9"
        in acclimate("data", "select", "--like", files.news, "--from", bad, *words, code=1).err
    )
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"word " * 1000)[:20])
    cut = acclimate("data", "select", "--like", files.news, "--from", tmp_path / "cut.gz", *words, code=1)
    assert "cut.gz, line 1: the compressed file is cut short" in cut.err
    missing = acclimate("data", "select", "--like", files.news, "--from", tmp_path / "nowhere", *words, code=1)
    assert "no such text file" in missing.err
    (tmp_path / "empty.txt").touch()
    empty = acclimate("data", "select", "--like", tmp_path / "empty.txt", "--from", files.tweets, *words, code=1)
    assert "the target text has no words" in empty.err
    assert not (tmp_path / "x").exists()


def test_the_bar_shows_how_much_is_read_and_how_fast() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with reading_bar(console) as show:
        show(stored=50, of=100, text=2_000_000)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "50%" in shown
    assert "2 MB, " in shown
    assert "MB/s" in shown


def test_a_corpus_that_would_be_read_as_text_is_told(files: Files, tmp_path: Path) -> None:
    (tmp_path / "columns").write_bytes(files.news.read_bytes())  # no ending: its lines tell
    for number, file in enumerate((files.news, tmp_path / "columns", files.tweets)):
        words = ["data", "select", "--like", files.tweets, "--from", file, "--top", 1, "--out", tmp_path / str(number)]
        is_told = f"--from {file} looks like a corpus with tags" in acclimate(*words).err
        assert is_told == (file != files.tweets)
