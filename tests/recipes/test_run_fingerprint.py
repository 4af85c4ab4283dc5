"""A folder belongs to the run that began in it."""

import os
from pathlib import Path

import pytest

from acclimate.runs.fingerprint import file_digest
from acclimate.runs.folder import add_start, begin, state_of
from acclimate.settings import UsageError

BEGUN = {"seed": 1, "training": {"clip": 5.0, "epochs": 3}, "data": {"source": "abc"}}


def test_the_same_run_may_go_on(tmp_path: Path) -> None:
    begin(tmp_path, BEGUN)
    begin(tmp_path, BEGUN)
    assert state_of(tmp_path, BEGUN) == "begun"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 2}, "seed: 1 then, 2 now"),
        ({"training": {"clip": None, "epochs": 3}}, "training.clip: 5.0 then, None now"),
        ({"data": {"source": "other"}}, "data.source"),
    ],
)
def test_another_run_is_refused_and_what_differs_is_named(tmp_path: Path, change: dict, named: str) -> None:
    begin(tmp_path, BEGUN)
    with pytest.raises(UsageError, match=named):
        begin(tmp_path, {**BEGUN, **change})


def test_it_goes_on_only_with_the_same_first_weights(tmp_path: Path) -> None:
    begin(tmp_path, BEGUN)
    for _ in range(2):
        add_start(tmp_path, {**BEGUN, "start": {"tagger": "abc"}})
    with pytest.raises(UsageError, match=r"start\.tagger: abc then, def now"):
        add_start(tmp_path, {**BEGUN, "start": {"tagger": "def"}})


def test_a_change_anywhere_in_a_large_file_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    data = bytearray(3 * 2**20)
    file.write_bytes(data)
    before = file_digest(file)
    data[len(data) // 2] = 1
    file.write_bytes(data)
    assert file_digest(file) != before
    assert file_digest(file).startswith("3145728 bytes, ")


def test_a_file_that_nobody_touched_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "vectors.txt"
    file.write_bytes(b"one")
    first = file_digest(file)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *_: pytest.fail("read again"))
        assert file_digest(file) == first
    file.write_bytes(b"two")
    os.utime(file, (1, 1))
    assert file_digest(file) != first
