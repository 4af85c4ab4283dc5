"""Every mistake ends in a sentence that says what came, what is allowed and what to do, and in the right exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import Files, acclimate

WRONG_USAGE = {
    "unknown key": (
        ["--set", "training.updats=3"],
        "unknown setting 'training.updats'. Did you mean training.updates?",
    ),
    "unknown group": (["--set", "trainig.updates=3"], "Did you mean training?"),
    "unknown recipe option": (["--set", "options.round=3"], "unknown setting 'round'. Did you mean rounds?"),
    "bad value": (["--set", "training.updates=many"], "setting 'training.updates' cannot be 'many'"),
    "value out of range": (["--set", "training.updates=0"], "setting 'training.updates' cannot be 0"),
    "no value": (["--set", "training.updates"], "expected NAME=VALUE"),
    "unknown recipe": (["--recipe", "self-trainig"], "Did you mean 'self-training'? Known: source-only, target-only"),
    "unknown head": (["--set", "tagger.head=crff"], "'crf' or 'softmax'"),
    "unknown selector": (["--set", "select=best"], "'source-dev', 'target-dev' or 'last'"),
    "a folder as settings file": (["--config", "."], "is a folder: name a settings file"),
    "no settings file": (["--config", "nosuch.yaml"], "nosuch.yaml: no such settings file"),
    "recipe without target": (["--source", "news", "--recipe", "self-training"], "needs target text: give --target"),
    "a seed that no library takes": (
        ["--seed", "99999999999999999999"],
        "setting 'seed' cannot be 9999999999999999999",
    ),
    "unknown part": (["--source", "news/tset"], "has the parts train, dev, test, unlabelled"),
    "unknown format": (["--source", "x", "--set", "reading.source_format=conl"], "Did you mean 'conll'?"),
}


@pytest.mark.parametrize("case", WRONG_USAGE)
def test_wrong_usage_ends_with_2_and_a_hint(case: str, here: Path) -> None:
    words, message = WRONG_USAGE[case]
    answer = acclimate("adapt", *words, code=2)
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert message in answer.err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("seed", ["99999999999999999999", "-1"])
def test_a_seed_has_its_limits(seed: str) -> None:
    answer = acclimate("data", "inspect", "--set", f"seed={seed}", code=2)
    assert f"setting 'seed' cannot be {seed}: Input should be" in answer.err


def test_an_option_that_does_not_exist_is_wrong_usage() -> None:
    assert "--source" in acclimate("adapt", "--sorce", "news", code=2).err


CANNOT_BE_DONE = {
    "missing file": (["adapt", "--source", "nosuch.conll"], "nosuch.conll: there is no such file."),
    "missing target": (
        ["adapt", "--source", "news", "--target", "socail"],
        "Did you mean the bundled corpus 'social'?",
    ),
    "missing map with nothing to map": (["adapt", "--source", "news", "--map", "wnut16"], "a bundled map: "),
    "missing map": (["adapt", "--map", "wnut16"], "a bundled map: "),
    "missing gold": (["data", "check", "nosuch.conll"], "nosuch.conll: there is no such file."),
    "empty file": (["data", "convert", "empty.txt", "-"], "empty.txt: the file is empty."),
    "no tagger": (["predict", "nosuch", "-"], "nosuch: no such folder. Expected one that `acclimate adapt --out`"),
    "other folder": (["evaluate", ".", "news/test"], "no manifest.json there"),
    "folder without corpora": (["data", "check", "nothing"], "nothing: no corpus file in this folder"),
}


@pytest.mark.parametrize("case", CANNOT_BE_DONE)
def test_what_cannot_be_done_ends_with_1_and_its_name(case: str, here: Path) -> None:
    (here / "empty.txt").touch()
    (here / "nothing").mkdir()
    words, message = CANNOT_BE_DONE[case]
    answer = acclimate(*words, code=1)
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert message in answer.err


def test_a_file_of_something_else_is_no_word_vectors(files: Files, tmp_path: Path) -> None:
    words = [
        "adapt",
        "--source",
        files.news,
        "--encoder",
        "character-cnn-lstm",
        "--set",
        f"tagger.lstm.vectors={files.news}",
    ]
    answer = acclimate(*words, "--out", tmp_path / "a", code=1)
    assert "no file of word vectors: a line is a word, then numbers" in answer.err


def test_a_device_that_is_not_there_leaves_no_folder_behind(
    adapt_words: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    answer = acclimate(*adapt_words, "--set", "training.device=cuda", "--out", tmp_path / "a", code=2)
    assert "torch sees no CUDA device here" in answer.err
    assert not (tmp_path / "a").exists()


def test_no_recipe_at_all_is_not_every_recipe(tmp_path: Path) -> None:
    answer = acclimate("compare", "--recipes", "", "--out", tmp_path / "a", code=2)
    assert "recipes cannot be '': names with commas between, or all." in answer.err


def test_advice_is_spelled_as_options(tmp_path: Path, files: Files) -> None:
    commented = tmp_path / "a.conll"
    commented.write_text("# a comment of many words\nAnna\tB-PER\n", encoding="utf-8")
    assert "pass --set reading.comments=true" in acclimate("data", "check", commented, code=1).err
    assert "--set reading.comments=true" in acclimate("adapt", "--source", commented, code=1).err
    assert (
        "a.conll: --set reading.column=9, but there are 2 columns"
        in acclimate(
            "data", "convert", commented, "-", "--set", "reading.comments=true", "--set", "reading.column=9", code=1
        ).err
    )
    (tmp_path / "empty.conll").touch()
    answer = acclimate("data", "inspect", tmp_path / "empty.conll", files.tweets, code=1)
    assert "the file is empty. Check the path.\n" in answer.err  # it has no option for the format
    answer = acclimate("data", "convert", files.news, tmp_path / "out.txt", code=1)
    assert "Name the file .conll or .jsonl to keep them, or pass --to text to leave them out." in answer.err
    answer = acclimate("data", "subset", files.news, tmp_path / "out.txt", "--sentences", 2, code=1)
    assert "Name the file .conll or .jsonl to keep them, or pass --to text (acclimate data convert)" in answer.err


def test_an_empty_file_is_not_blamed_on_its_format(tmp_path: Path) -> None:
    for content, what in (("", "is empty"), ("\n \n", "holds blank lines only")):
        (tmp_path / "a.conll").write_text(content, encoding="utf-8")
        answer = acclimate("adapt", "--source", tmp_path / "a.conll", code=1)
        assert answer.err == f"error: {tmp_path / 'a.conll'}: the file {what}. Check the path.\n"


def test_who_passes_skip_bad_is_not_advised_to(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text("a\tO\nb\tO\tx\n\nc\tO\n", encoding="utf-8")
    answer = acclimate("data", "convert", tmp_path / "a.conll", "-", "--set", "reading.skip_bad=true")
    assert "(separated by tabs). Mend the line. The text there" in answer.err
    assert "--skip-bad" not in answer.err


@pytest.mark.parametrize("name", ["weights.safetensors", "tagger.json", "settings.yaml", "manifest.json"])
def test_a_damaged_tagger_is_found_and_its_file_named(name: str, tagger: Path, tmp_path: Path) -> None:
    for path in tagger.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    data = bytearray((tmp_path / name).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / name).write_bytes(data)
    answer = acclimate("predict", tmp_path, "-", stdin="Hello .\n", code=1)
    assert f"{tmp_path / name}: damaged" in answer.err


def test_a_missing_file_of_a_tagger_is_named(tagger: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes((tagger / "manifest.json").read_bytes())
    assert "missing, though the manifest lists it" in acclimate("evaluate", tmp_path, "news/test", code=1).err


def test_a_fault_of_our_own_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acclimate.data.checks.check_corpora", lambda corpora: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        acclimate("data", "check", "news/dev")


def test_a_device_that_is_not_there_is_refused(tagger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "torch sees no CUDA device here" in acclimate("predict", tagger, "-", "--device", "cuda", code=2).err
    assert "expected auto, cpu, cuda or torch" in acclimate("predict", tagger, "-", "--device", "gpu", code=2).err


def started(*words: str) -> subprocess.Popen[str]:
    """A command in a process of its own; it says "ready" when everything is imported."""
    code = (  # what a shell starts in the background has Ctrl-C switched off, and would hand that on
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from acclimate.cli import main, reading; print('ready', file=sys.stderr, flush=True); main.main()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_a_reader_who_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    """`acclimate data convert long.txt - --to conll | head -1`: far more comes than a pipe holds."""
    (tmp_path / "long.txt").write_text("one line of words\nand another\n" * 60_000, encoding="utf-8")
    with started("data", "convert", str(tmp_path / "long.txt"), "-", "--to", "conll") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "one\n"
        process.stdout.close()
        assert process.stderr.read() == "ready\n"
    assert process.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="file descriptors")
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [("data convert news/dev - --to conll", 1, "error: standard output is closed"), ("info corpora", 0, "")],
)
def test_a_closed_standard_output_is_no_traceback(words: str, code: int, told: str) -> None:
    command = f"exec {sys.executable} -m acclimate {words} >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr[: len(told)]) == (code, told)
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="file descriptors")
def test_a_closed_standard_input_is_an_empty_one() -> None:
    command = f"exec {sys.executable} -m acclimate data convert - - --set reading.format=conll <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: <stdin>: the file is empty. Check the path.\n")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_real_ctrl_c_ends_with_130_and_one_line() -> None:
    with started("data", "convert", "-", "-") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        time.sleep(1)  # by now it waits for its input
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "Stopped.\n")
