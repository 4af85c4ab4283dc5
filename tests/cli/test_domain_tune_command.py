"""`acclimate encoder domain-tune` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import acclimate, ctrl_c_after

QUICK = ["--set", "updates=4", "--set", "rows_per_batch=4", "--set", "device=cpu", "--set", "evaluate_every=2"]


@pytest.fixture
def text(tmp_path: Path) -> list[str]:
    names = []
    for number in range(2):
        place = tmp_path / f"{number} 😀.txt"
        place.write_text("\n".join(f"The {n} cats of Oslo sleep all day ." for n in range(60)), encoding="utf-8")
        names.append(str(place))
    return names


def test_it_tells_losses_speed_and_policy(text: list[str], bert: str, tmp_path: Path) -> None:
    out = str(tmp_path / "mine")
    command = [
        "encoder",
        "domain-tune",
        "--text",
        *text,
        "--encoder",
        bert,
        "--masking",
        "mix-adversarial",
        "--out",
        out,
        *QUICK,
    ]
    answer = acclimate(*command)
    assert "held-out text" in answer.out
    assert "perplexity" in answer.out
    assert "updates/s" in answer.out
    assert "masking mix-adversarial" in answer.out
    assert f"acclimate adapt --encoder {out}" in answer.out
    assert "held-out loss" in answer.err
    assert "already holds a finished encoder" in acclimate(*command, code=2).err


def test_an_interrupted_overwrite_leaves_the_old_encoder_and_goes_on(
    text: list[str], bert: str, tmp_path: Path
) -> None:
    out = tmp_path / "mine"
    command = [
        "encoder",
        "domain-tune",
        "--text",
        text[0],
        "--encoder",
        bert,
        "--out",
        out,
        *QUICK,
        "--set",
        "checkpoint_every=1",
    ]
    acclimate(*command, "-q")
    before = (out / "model.safetensors").read_bytes()
    with ctrl_c_after(3):
        answer = acclimate(*command, "--set", "seed=2", "--overwrite", code=130)
    assert "the same command without --overwrite goes on" in answer.err
    assert (out / "model.safetensors").read_bytes() == before
    assert "going on from update 2 of 4" in acclimate(*command, "--set", "seed=2").err
    assert (out / "model.safetensors").read_bytes() != before


def test_mistakes_are_told(text: list[str], bert: str, tmp_path: Path) -> None:
    out = str(tmp_path / "mine")
    assert "needs text" in acclimate("encoder", "domain-tune", "--out", out, code=2).err
    wrong = ["encoder", "domain-tune", "--text", text[0], "--encoder", bert, "--out", out, "--masking", "ranom"]
    assert "Did you mean 'random'" in acclimate(*wrong, code=2).err
    missing = ["encoder", "domain-tune", "--text", tmp_path / "no.txt", "--encoder", bert, "--out", out]
    assert "no.txt" in acclimate(*missing, code=1).err
    unknown = ["encoder", "domain-tune", "--text", text[0], "--out", out, "--set", "updats=3"]
    assert "Did you mean updates" in acclimate(*unknown, code=2).err


def test_the_tagger_without_a_language_model_is_not_looked_for_on_the_hub(text: list[str], tmp_path: Path) -> None:
    words = ["encoder", "domain-tune", "--text", text[0], "--out", tmp_path / "mine", "--encoder", "character-cnn-lstm"]
    assert "character-cnn-lstm is no masked language model: take acclimate-mini" in acclimate(*words, code=1).err


def test_an_encoder_that_is_not_finished_is_told_as_such(text: list[str], bert: str, tmp_path: Path) -> None:
    words = [
        "encoder",
        "domain-tune",
        "--text",
        text[0],
        "--encoder",
        bert,
        "--out",
        tmp_path / "mine",
        "--set",
        "updates=4",
    ]
    with ctrl_c_after(2):
        acclimate(*words, "--masking", "random", "--set", "checkpoint_every=1", code=130)
    answer = acclimate("adapt", "--encoder", tmp_path / "mine", "--out", tmp_path / "a", code=1)
    assert f"{tmp_path / 'mine'}: this encoder is not finished. Give its command" in answer.err


def test_its_settings_can_be_printed(text: list[str]) -> None:
    shown = acclimate("info", "settings", "domain-tune").out
    assert "masking: adversarial" in shown
    assert "beta: 0.3" in shown
