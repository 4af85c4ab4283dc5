"""One process trains in a folder at a time, and what a killed one left half written goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acclimate.model.storage import atomic_folder
from acclimate.runs.folder import in_locked_folder, locked
from acclimate.settings import UsageError
from held_folders import held_by_a_thread

HOLDS_IT = "import sys, time; from acclimate.runs.folder import locked; \
lock = locked(sys.argv[1]); lock.__enter__(); print('locked', flush=True); time.sleep(600)"


@contextmanager
def held_by_a_process(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", HOLDS_IT, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(os.name != "posix", reason="locks of the system")
def test_a_second_process_is_refused_by_name_until_the_first_is_killed(tmp_path: Path) -> None:
    with held_by_a_process(tmp_path / "a") as other:
        with pytest.raises(UsageError) as refused, locked(tmp_path / "a"):
            pass
        assert f"{tmp_path / 'a'} is in use: process {other.pid} trains there." in str(refused.value)
        other.send_signal(signal.SIGKILL)
        other.wait()
        with locked(tmp_path / "a"):
            assert (tmp_path / "a" / ".lock").read_text().split()[0] == str(os.getpid())
    assert not (tmp_path / "a" / ".lock").exists()


def test_who_has_it_may_ask_again_and_another_thread_may_not(tmp_path: Path) -> None:
    with locked(tmp_path), locked(tmp_path / "." / "b" / ".."):
        pass
    with held_by_a_thread(tmp_path), pytest.raises(UsageError, match="is in use"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_it_is_given_back_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        _ = 1 // 0
    with held_by_a_thread(tmp_path):
        pass


def test_a_folder_made_for_it_goes_again_if_nothing_is_put_there(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with locked(tmp_path / "runs" / "many" / "a"):
        pass
    assert list((tmp_path / "runs").iterdir()) == []
    with locked(tmp_path / "runs" / "many" / "a"):
        (tmp_path / "runs" / "many" / "a" / "tagger.json").touch()
    assert [path.name for path in (tmp_path / "runs" / "many" / "a").iterdir()] == ["tagger.json"]


def test_parts_of_a_killed_save_are_swept_away_and_nothing_else(tmp_path: Path) -> None:
    run = tmp_path / "a"
    gone = [tmp_path / ".a.0123abcd.part", run / "training" / "x" / "00-source" / ".finished.0123abcd.part"]
    stays = [tmp_path / ".ab.0123abcd.part", tmp_path / ".b.0123abcd.part", run / "notes"]
    for folder in (*gone, *stays):
        folder.mkdir(parents=True)
        (folder / "weights.safetensors").touch()
    (run / "training" / "run.json.part").touch()
    with locked(run):
        pass
    assert not any(folder.exists() for folder in gone)
    assert all((folder / "weights.safetensors").exists() for folder in stays)
    assert not (run / "training" / "run.json.part").exists()


def test_what_a_save_writes_aside_is_what_is_swept_away(tmp_path: Path) -> None:
    cut_off = atomic_folder(tmp_path / "a")
    aside = cut_off.__enter__()
    assert aside.is_dir()
    with locked(tmp_path / "a"):
        assert not aside.exists()


def test_other_processes_of_one_training_leave_it_to_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    with locked(tmp_path / "a"):
        assert not (tmp_path / "a").exists()


def test_a_folder_that_cannot_be_written_locks_nobody_out(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()  # no file can be opened there
    with locked(tmp_path):
        pass


def test_a_function_with_a_folder_locks_it_and_one_without_does_not(tmp_path: Path) -> None:
    @in_locked_folder
    def work(text: str, out: Path | None = None) -> bool:
        return (tmp_path / ".lock").exists()

    assert work("a", tmp_path)
    assert work("a", out=tmp_path)
    assert not work("a")
