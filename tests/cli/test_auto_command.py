"""`acclimate adapt --recipe auto`: a race first, then the winner as any other recipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from command_line import QUICK, Answer, Files, acclimate, ctrl_c_after

CHEAP = ["--recipe", "auto", "--set", "options.budget=20u", "--set", "options.recipes=self-training,la-dtl"]


@pytest.fixture(scope="module")
def words(files: Files) -> list[object]:
    given = ["--source", files.news, "--source-dev", files.dev, "--target", files.tweets]
    return ["adapt", *given, *QUICK, *CHEAP]


@pytest.fixture(scope="module")
def raced(words: list[object], files: Files, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    folder = tmp_path_factory.mktemp("auto") / "a"
    return folder, acclimate(*words, "--target-test", files.gold, "--out", folder)


def weights(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()


def test_choice_table_and_reasons_are_printed(raced: tuple[Path, Answer]) -> None:
    folder, answer = raced
    race = json.loads((folder / "race.json").read_text(encoding="utf-8"))
    assert f"{race['choice']} *" in answer.out
    assert f"{race['choice']} is preferred by source-dev" in answer.out
    assert (
        "left out: la-dtl. Recipe la-dtl learns from labelled target sentences: give some (--target-labelled)."
        in answer.out
    )
    assert f"recipe {race['choice']}, seed 1" in answer.out
    assert {entry["recipe"] for entry in race["candidates"]} == {"source-only", "self-training"}
    assert "The race that chose this recipe" in (folder / "report.md").read_text(encoding="utf-8")


def test_the_winner_is_trained_as_if_it_had_been_named(
    raced: tuple[Path, Answer], files: Files, tmp_path: Path
) -> None:
    folder, _ = raced
    choice = json.loads((folder / "race.json").read_text(encoding="utf-8"))["choice"]
    given = ["--source", files.news, "--source-dev", files.dev, "--target", files.tweets, "--target-test", files.gold]
    acclimate("adapt", *given, *QUICK, "--recipe", choice, "--out", tmp_path / "b", "--quiet")
    assert weights(folder) == weights(tmp_path / "b")
    reports = [json.loads((place / "report.json").read_text(encoding="utf-8")) for place in (folder, tmp_path / "b")]
    assert reports[0]["target"] == reports[1]["target"]
    assert yaml.safe_load((folder / "settings.yaml").read_text(encoding="utf-8"))["recipe"] == choice
    assert not (folder / "training" / "race").exists()


def test_the_test_s_labels_change_no_weight_and_no_choice(
    raced: tuple[Path, Answer], words: list[object], files: Files, tmp_path: Path
) -> None:
    other = tmp_path / "other.conll"
    lines = files.gold.read_text(encoding="utf-8").splitlines()
    shown = [" ".join([*line.split()[:-1], "B-PER"]) if line.strip() else "" for line in lines]
    other.write_text("\n".join([*shown, ""]), encoding="utf-8")
    acclimate(*words, "--target-test", other, "--out", tmp_path / "a", "--quiet")
    assert weights(tmp_path / "a") == weights(raced[0])
    races = [json.loads((place / "race.json").read_text(encoding="utf-8")) for place in (raced[0], tmp_path / "a")]
    for race in races:
        for entry in race["candidates"]:
            del entry["seconds"]
    assert races[0] == races[1]


def test_it_goes_on_after_ctrl_c_without_a_second_race(
    raced: tuple[Path, Answer], words: list[object], files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [*words, "--target-test", files.gold, "--out", tmp_path / "a"]
    with ctrl_c_after(3):
        answer = acclimate(*given, code=130)
    assert "the same command goes on" in answer.err
    assert (tmp_path / "a" / "training" / "race" / "source-only").is_dir()
    with monkeypatch.context() as patch:
        patch.setattr("acclimate.runs.run.train_run", lambda *_, **__: pytest.fail("raced again"))
        acclimate(*given)
    assert weights(tmp_path / "a") == weights(raced[0])


def test_as_json_the_race_is_a_part_of_the_report(words: list[object], tmp_path: Path) -> None:
    found = acclimate(*words, "--out", tmp_path / "a", "--json").json
    assert found["recipe"] == found["race"]["choice"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--recipe", "self-training", "--set", "options.budget=10m"], "unknown setting 'budget'"),
        (["--recipe", "auto", "--set", "options.budget=soon"], "minutes (10, 10m, 1.5h), or updates (3000u)"),
        (["--recipe", "auto", "--set", "options.selector=magic"], "Unknown selector 'magic'"),
        (["--recipe", "auto", "--set", "options.recipes=magic"], "Unknown recipe 'magic'"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(files: Files, given: list[str], told: str) -> None:
    words = ["adapt", "--source", files.news, "--target", files.tweets, *given]
    assert told in " ".join(acclimate(*words, code=2).err.replace("│", " ").split())


def test_auto_without_a_target_is_wrong_usage(files: Files) -> None:
    assert "needs target text: give --target" in acclimate("adapt", "--source", files.news, *CHEAP, code=2).err


def test_its_settings_are_listed() -> None:
    assert yaml.safe_load(acclimate("info", "settings", "auto").out)["options"]["budget"] == "10m"
    assert acclimate("info", "recipes", "--json").json["auto"]["options"]["budget"] == "10m"
