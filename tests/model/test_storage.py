"""Saved folders are whole or absent, and a flipped byte in any of their files is found before use."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from acclimate.data.corpus import Corpus
from acclimate.model.storage import (
    MANIFEST,
    StorageError,
    atomic_folder,
    read_json,
    read_tensors,
    verify,
    write_json,
    write_tensors,
)
from acclimate.model.tagger import Tagger

KINDS = ["character-cnn-lstm", "bert", "contextual"]


@pytest.fixture(scope="module", params=KINDS)
def saved(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Tagger]
) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "tagger"
    if request.param == "contextual":
        tagger = build(contextual={"encoder": request.getfixturevalue("bert")})
    else:
        tagger = build(request.param)
    tagger.save(folder, **{"report.md": "# A report"})
    return folder


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def flipped_bits(path: Path, times: int = 6) -> Iterator[tuple[int, int]]:
    """Flip one bit at the ends of a file and at random places, one at a time, and put the file back."""
    whole = path.read_bytes()
    dice = random.Random(path.name)
    places = [0, len(whole) - 1, *(dice.randrange(len(whole)) for _ in range(times))]
    for place in places:
        bit = dice.randrange(8)
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        yield place, bit
    path.write_bytes(whole)


def write_folder(folder: Path, **contents: str) -> None:
    with atomic_folder(folder) as aside:
        for name, text in contents.items():
            (aside / name).write_text(text)


def contents_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in files_in(folder) if path.name != MANIFEST}


def test_a_flipped_bit_in_any_file_of_a_saved_tagger_is_found_before_use(saved: Path) -> None:
    for path in files_in(saved):
        for place, bit in flipped_bits(path):
            with pytest.raises(StorageError, match="damaged") as failure:
                Tagger.load(saved)
            assert path.name in str(failure.value), f"bit {bit} of byte {place} in {path.name}"
    Tagger.load(saved)


def test_a_missing_file_is_named(saved: Path) -> None:
    for path in files_in(saved):
        aside = path.rename(path.with_name("elsewhere"))
        with pytest.raises(StorageError, match=path.name):
            Tagger.load(saved)
        aside.rename(path)


def test_a_file_cut_short_is_named(saved: Path) -> None:
    for path in files_in(saved):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(StorageError, match=path.name):
            Tagger.load(saved)
        path.write_bytes(whole)


def test_nothing_that_could_run_code_is_ever_written(saved: Path) -> None:
    kinds = {path.suffix for path in files_in(saved)}
    assert kinds <= {".json", ".safetensors", ".txt", ".md", ".jinja"}


def test_a_folder_that_is_not_there_or_holds_nothing_saved_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no such folder"):
        Tagger.load(tmp_path / "nowhere")
    with pytest.raises(StorageError, match=r"no manifest\.json there"):
        Tagger.load(tmp_path)


def test_a_user_s_own_files_beside_a_tagger_do_not_matter_and_stay(tmp_path: Path) -> None:
    write_folder(tmp_path / "kept", model="one")
    (tmp_path / "kept" / "notes").write_text("mine")
    verify(tmp_path / "kept")
    write_folder(tmp_path / "kept", model="two")
    verify(tmp_path / "kept")
    assert contents_of(tmp_path / "kept") == {"model": "two", "notes": "mine"}


def test_what_the_old_version_had_and_the_new_has_not_is_gone(tmp_path: Path) -> None:
    write_folder(tmp_path / "kept", model="one", weights="old")
    write_folder(tmp_path / "kept", model="two")
    assert contents_of(tmp_path / "kept") == {"model": "two"}


def test_a_tagger_without_a_weights_file_can_be_saved_over_one_that_has_it(
    tmp_path: Path, build: Callable[..., Tagger], news: Corpus
) -> None:
    build("bert", head="crf").save(tmp_path / "tagger")
    build("bert", head="softmax").save(tmp_path / "tagger")
    assert Tagger.load(tmp_path / "tagger").head_name == "softmax"


def test_an_error_while_writing_leaves_the_old_folder_whole_and_no_litter(tmp_path: Path) -> None:
    write_folder(tmp_path / "kept", model="old")
    with pytest.raises(TypeError):  # in the second file, when the first is written
        write_folder(tmp_path / "kept", model="new", other=None)
    verify(tmp_path / "kept")
    assert contents_of(tmp_path / "kept") == {"model": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_an_error_in_the_first_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "kept"):
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []


KILLED_AT_EVERY_STEP = """
import os, signal, sys
from pathlib import Path
from acclimate.model.storage import StorageError, finish_saving, verify, atomic_folder

here = Path(sys.argv[1])

def write(**contents):
    with atomic_folder(here / "kept") as aside:
        (aside / "below").mkdir()
        for name, text in contents.items():
            (aside / name).write_text(text)
            (aside / "below" / name).write_text(text)

def die_at(step):
    '''Killed, not interrupted, when the step-th file operation begins: no `except` and no `finally` will run.'''
    left = [step]
    def hook(event, values):
        touched = event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.scandir")
        if touched and str(here) in str(values[0]):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)

def contents():
    return {path: path.read_bytes() for path in sorted(here.rglob("*")) if path.is_file()}

def version():
    folder = here / "kept"
    before = contents()
    try:
        verify(folder)
    except StorageError as problem:
        assert "finish_saving" in str(problem), problem
    assert contents() == before, "reading has written"
    finish_saving(folder)
    verify(folder)
    assert (folder / "notes").read_text() == "mine"
    found = {path.name: path.read_text() for path in folder.glob("[a-z]") if path.is_file()}
    assert found == {path.name: path.read_text() for path in (folder / "below").iterdir()}, found
    assert found in ({"a": "old", "b": "old"}, {"b": "new", "c": "new"}), found
    return found["b"]

versions, step = [], 0
while True:
    step += 1
    write(a="old", b="old")
    (here / "kept" / "notes").write_text("mine")
    assert version() == "old"
    child = os.fork()
    if child == 0:
        die_at(step)
        write(b="new", c="new")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    versions.append(version())
    if os.WIFEXITED(status):
        break
print(step, versions.index("new"), versions == sorted(versions, reverse=True))
"""


def test_killed_at_any_step_of_writing_the_folder_is_wholly_old_or_wholly_new(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_EVERY_STEP, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    steps, first_new, never_back = done.stdout.split()
    assert int(steps) > int(first_new) + 5 > 15
    assert never_back == "True"


def test_what_a_killed_save_left_is_removed_by_the_next_one_and_what_is_under_way_is_not(tmp_path: Path) -> None:
    killed = tmp_path / ".a.0123abcd.part"
    killed.mkdir()
    (killed / "weights").write_text("half")
    with atomic_folder(tmp_path / "a") as slow, atomic_folder(tmp_path / "a") as quick:
        assert not killed.exists()
        assert slow.exists()
        (quick / "x").write_text("1")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_json_and_tensors_come_back_as_they_were(tmp_path: Path) -> None:
    content = {"words": ["é", "😀", "\ud800", "\u2028"], "number": 0.1, "nothing": None}
    write_json(tmp_path / "a.json", content)
    assert read_json(tmp_path / "a.json") == content
    tensors: dict[str, Any] = {
        "half": torch.randn(3).bfloat16(),
        "scalar": torch.tensor(7),
        "flags": torch.ones(2, 0) > 0,
    }
    write_tensors(tmp_path / "a.safetensors", tensors)
    read = read_tensors(tmp_path / "a.safetensors")
    assert read.keys() == tensors.keys()
    assert all(torch.equal(read[name], tensors[name]) and read[name].dtype == tensors[name].dtype for name in tensors)


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o007, 0o660), (0o077, 0o600)])
def test_whoever_may_read_other_files_may_read_the_weights(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_tensors(tmp_path / "a.safetensors", {"a": torch.zeros(2)})
        with atomic_folder(tmp_path / "folder") as aside:
            save_file({"a": torch.zeros(2)}, aside / "of-another-library.safetensors")
    finally:
        os.umask(before)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name: path.stat().st_mode & 0o777 for path in written} == {path.name: mode for path in written}
    assert len(written) == 3


def test_tensors_that_share_memory_are_both_written(tmp_path: Path) -> None:
    tied = torch.randn(4)
    write_tensors(tmp_path / "a.safetensors", {"one": tied, "other": tied, "turned": tied.view(2, 2).T})
    assert torch.equal(read_tensors(tmp_path / "a.safetensors")["other"], tied)


def test_a_file_that_is_no_safetensors_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"nonsense")
    with pytest.raises(StorageError, match=r"a\.safetensors: cannot be read as safetensors"):
        read_tensors(tmp_path / "a.safetensors")
