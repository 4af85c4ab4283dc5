"""`acclimate encoder pretrain` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import acclimate

from tiny_pretraining import TINY_PRETRAINING

SMALL = [
    *TINY_PRETRAINING,
    "--set",
    "training.updates=12",
    "--set",
    "training.evaluate_every=6",
    "--set",
    "held_out=0.1",
]


@pytest.fixture
def text(tmp_path: Path) -> list[str]:
    names = []
    for number in range(2):
        place = tmp_path / f"{number} 😀.txt"
        place.write_text("\n".join(f"The {n} cats of Oslo sleep all day ." for n in range(200)), encoding="utf-8")
        names.append(str(place))
    return names


def test_several_files_may_follow_one_another(text: list[str], tmp_path: Path) -> None:
    answer = acclimate("encoder", "pretrain", "--text", *text, "--out", str(tmp_path / "mine"), *SMALL)
    assert "held-out text" in answer.out
    assert "perplexity" in answer.out
    assert "pieces/s" in answer.err
    assert "s left" in answer.err
    assert f"acclimate adapt --encoder {tmp_path / 'mine'}" in answer.out


def test_a_finished_encoder_is_not_overwritten_unasked(text: list[str], tmp_path: Path) -> None:
    command = ["encoder", "pretrain", "--text", text[0], "--out", str(tmp_path / "mine"), "-q", *SMALL]
    acclimate(*command)
    assert "already holds a finished encoder" in acclimate(*command, code=2).err
    acclimate(*command, "--overwrite", "--set", "seed=2")


def test_no_text_a_missing_file_and_a_file_as_folder_are_told(text: list[str], tmp_path: Path) -> None:
    out = str(tmp_path / "mine")
    assert "needs text" in acclimate("encoder", "pretrain", "--out", out, code=2).err
    assert (
        "no such text file" in acclimate("encoder", "pretrain", "--text", tmp_path / "no.txt", "--out", out, code=1).err
    )
    assert "is a file" in acclimate("encoder", "pretrain", "--text", text[0], "--out", text[1], code=2).err


def test_text_that_is_refused_does_not_keep_the_folder(text: list[str], tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    out = tmp_path / "mine"
    answer = acclimate("encoder", "pretrain", "--text", tmp_path / "empty.txt", "--out", out, *SMALL, code=1)
    assert "no text in" in answer.err
    assert not out.exists()
    assert "this is a folder" in acclimate("encoder", "pretrain", "--text", tmp_path, "--out", out, code=1).err


def test_an_unknown_setting_is_told(text: list[str], tmp_path: Path) -> None:
    command = ["encoder", "pretrain", "--text", text[0], "--out", str(tmp_path / "mine"), "--set", "encoder.depth=3"]
    assert "encoder.depth" in acclimate(*command, code=2).err


def test_its_settings_can_be_printed_and_handed_back(text: list[str], tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(acclimate("info", "settings", "pretrain").out, encoding="utf-8")
    command = [
        "encoder",
        "pretrain",
        "--text",
        text[0],
        "--out",
        str(tmp_path / "mine"),
        "--config",
        str(config),
        "-q",
        *SMALL,
    ]
    assert acclimate(*command).code == 0
