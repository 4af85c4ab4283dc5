"""`recipe: compose` from a file and from --set, and the names that are listed for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from command_line import QUICK, Files, acclimate, ctrl_c_after

from acclimate.recipes.compose_parts import OBJECTIVES

EXAMPLE = Path(__file__).parents[2] / "examples" / "compose.yaml"


def test_the_example_runs(files: Files, bert: str, tmp_path: Path) -> None:
    config = tmp_path / "compose.yaml"
    config.write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    short = ["--set", "training.updates=4", "--set", "options.stages.0.domain_tuning.updates=2"]
    given = ["--source", files.news, "--target", files.tweets, "--encoder", bert, *short, "--out", tmp_path / "a"]
    found = acclimate("adapt", "--config", config, *given, "--json").json
    assert [stage["stage"] for stage in found["stages"]] == ["source", "tune", "learn", "believe-1", "believe-2"]
    assert [stage["updates"] for stage in found["stages"]] == [4, 2, 4, 1, 1]
    kept = yaml.safe_load((tmp_path / "a" / "settings.yaml").read_text(encoding="utf-8"))
    assert kept["options"]["stages"][1]["objectives"]["mat"]["settings"]["rate"] == 0.1


def test_stages_may_be_given_on_the_command_line(files: Files, tmp_path: Path) -> None:
    stages = "options.stages=[{objectives: {tagging: 1}}, {objectives: [tagging, distillation], name: b}]"
    given = ["--source", files.news, "--recipe", "compose", *QUICK, "--out", tmp_path / "a", "--set", stages]
    found = acclimate("adapt", *given, "--set", "options.stages.1.updates=2", "--json").json
    assert [(stage["stage"], stage["updates"]) for stage in found["stages"][1:]] == [("stage-1", 6), ("b", 2)]


@pytest.mark.parametrize("updates", [8, 14, 17])  # in the first stage, and in the first and second round
def test_an_interrupted_composition_ends_as_the_unbroken_one(files: Files, tmp_path: Path, updates: int) -> None:
    """Teacher and pseudo-labels come from the stage before, which is found on disk."""
    believe = "{objectives: [tagging, target-tagging, distillation], beside: [pseudo-labelled], updates: 3, rounds: 2}"
    stages = f"options.stages=[{{objectives: [tagging]}}, {believe}]"
    given = ["--source", files.news, "--target", files.tweets, "--recipe", "compose", *QUICK, "--set", stages]
    words = ["adapt", *given, "--set", "training.checkpoint_every=1", "--out"]
    acclimate(*words, tmp_path / "unbroken", "--quiet")
    with ctrl_c_after(updates):
        acclimate(*words, tmp_path / "broken", code=130)
    acclimate(*words, tmp_path / "broken", "--quiet")
    whole, gone_on = ((tmp_path / name / "weights.safetensors").read_bytes() for name in ("unbroken", "broken"))
    assert whole == gone_on


@pytest.mark.parametrize(
    ("assignment", "told"),
    [
        ("options.stages=[{objectives: {taging: 1}}]", "Did you mean 'tagging'?"),
        ("options.stages.first.updates=2", "options of recipe compose: setting 'stages'"),
        ("options.stages=[{objectives: [distillation]}]", "no stage before it learns tags"),
        ("options.stages=[{objectives: [tagging], learns: [target-labelled]}]", "give --target-labelled"),
    ],
)
def test_a_mistake_is_wrong_usage_and_leaves_nothing_behind(
    files: Files, tmp_path: Path, assignment: str, told: str
) -> None:
    given = ["--source", files.news, "--recipe", "compose", *QUICK, "--out", tmp_path / "a", "--set", assignment]
    assert told in acclimate("adapt", *given, code=2).err
    assert not (tmp_path / "a").exists()


def test_a_mistake_leaves_a_finished_run_as_it_is(files: Files, tmp_path: Path) -> None:
    given = ["adapt", "--source", files.news, *QUICK, "--out", tmp_path / "a", "--quiet"]
    acclimate(*given, "--recipe", "source-only")
    before = sorted(tmp_path.rglob("*"))
    wrong = ["--recipe", "compose", "--set", "options.stages=[{objectives: [distillation]}]", "--overwrite"]
    assert "no stage before it learns tags" in acclimate(*given, *wrong, code=2).err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_mistake_in_a_comparison_leaves_no_folder_of_a_run(files: Files, tmp_path: Path) -> None:
    given = ["compare", "--source", files.news, "--recipes", "source-only,compose", "--seeds", 1]
    stages = "compose.options.stages=[{objectives: [distillation]}]"
    answer = acclimate(*given, *QUICK, "--set", "selectors=none", "--set", stages, "--out", tmp_path / "a")
    assert "Missing: compose, seed 1. Stage stage-1, distillation learns from the tagger" in answer.out
    assert not (tmp_path / "a" / "runs" / "compose").exists()


def test_the_names_are_listed() -> None:
    out = acclimate("info", "recipes").out
    for name, part in OBJECTIVES.items():
        assert f"    {name}: {part.summary}" in out
    assert "    mix-adversarial" in out
    assert len(acclimate("info", "recipes", "--json").json["compose"]["parts"]["objectives"]) == len(OBJECTIVES)
    assert "distillation" in acclimate("info", "settings", "compose").out
