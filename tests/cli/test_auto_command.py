"""`acclimate adapt --recipe auto`: a committee whose members differ in their recipe."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from command_line import QUICK, Files, acclimate


def words_of(files: Files) -> list[object]:
    return ["adapt", "--recipe", "auto", "--source", files.news, "--source-dev", files.dev, *QUICK]


def recipes_of(folder: Path) -> list[str]:
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return [member["recipe"] for member in report["committee"]["members"]]


def test_three_recipes_vote_and_the_test_only_scores(files: Files, tmp_path: Path) -> None:
    words = [*words_of(files), "--target", files.tweets, "--quiet"]
    answer = acclimate(*words, "--target-test", files.gold, "--out", tmp_path / "a")
    assert recipes_of(tmp_path / "a") == ["acclimate", "datnet", "self-training"]
    assert "committee of 3 members" in answer.out
    saved = yaml.safe_load((tmp_path / "a" / "settings.yaml").read_text(encoding="utf-8"))
    assert (saved["recipe"], saved["committee"]["members"]) == ("auto", 3)
    acclimate(*words, "--out", tmp_path / "b")
    one, two = ((tmp_path / name / "weights.safetensors").read_bytes() for name in "ab")
    assert one == two


def test_with_target_labels_other_recipes_take_part(files: Files, tmp_path: Path) -> None:
    given = ["--target", files.tweets, "--target-labelled", files.gold, "--out", tmp_path / "a", "--quiet"]
    acclimate(*words_of(files), *given, "--set", "committee.members=2")
    assert recipes_of(tmp_path / "a") == ["acclimate", "pdaln"]


def test_auto_without_a_target_or_with_options_is_wrong_usage(files: Files) -> None:
    assert "needs target text: give --target" in acclimate(*words_of(files), code=2).err
    answer = acclimate(*words_of(files), "--target", files.tweets, "--set", "options.budget=10m", code=2)
    assert "unknown setting 'budget'" in answer.err


def test_it_is_listed() -> None:
    assert yaml.safe_load(acclimate("info", "settings", "auto").out)["recipe"] == "auto"
    assert "committee" in acclimate("info", "recipes", "--json").json["auto"]["summary"]
