"""The recipe mslm from the command line: trained, then used like any other tagger."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Answer, Files, acclimate

from acclimate.model.tagger import Tagger


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, files: Files, bert: str) -> tuple[Path, Answer]:
    folder = tmp_path_factory.mktemp("runs") / "mslm"
    words = ["adapt", "--recipe", "mslm", "--source", files.news, "--source-dev", files.dev, "--encoder", bert]
    sizes = ["training.updates=150", "training.learning_rate=0.005", "training.words_per_batch=120"]
    sets = [word for one in [*sizes, "options.tags_on=both", "select=last"] for word in ("--set", one)]
    return folder, acclimate(
        *words, "--target-test", files.gold, *sets, "--set", "tagger.head=softmax", "--out", folder, "--json"
    )


def test_it_needs_no_target_text(trained: tuple[Path, Answer]) -> None:
    assert trained[1].json["recipe"] == "mslm"
    assert [stage["stage"] for stage in trained[1].json["stages"]] == ["source", "mslm"]


def test_its_tagger_predicts_typed_entities(trained: tuple[Path, Answer], files: Files) -> None:
    rows = acclimate("predict", trained[0], files.news).out.splitlines()
    found = {row.split("\t")[1] for row in rows if row}
    assert {"O", "B-LOC", "B-ORG", "B-PER"} <= found <= set(Tagger.load(trained[0]).tags)
    assert "F1" in acclimate("evaluate", trained[0], files.dev).out


def test_what_its_runs_wrote_down_can_be_looked_at(tmp_path: Path, files: Files, bert: str) -> None:
    words = ["adapt", "--recipe", "mslm", "--source", files.news, "--source-dev", files.dev, "--encoder", bert]
    brief = [
        "--set",
        "training.updates=4",
        "--set",
        "training.evaluate_every=2",
        "--set",
        "tagger.head=softmax",
        "--json",
    ]
    acclimate(*words, *brief, "--out", tmp_path / "joint")
    acclimate(*words, *brief, "--set", "options.masking=span", "--out", tmp_path / "span")
    compared = acclimate("report", tmp_path / "joint", tmp_path / "span", "--only", "curves", "--json").json["curves"][
        "compared"
    ]
    curves = {curve["name"]: curve["evaluations"] for curve in compared[0]["curves"]}
    assert {"joint: mslm", "span: mslm"} < set(curves)
    assert all(
        [look["update"] for look in evaluations] == [2, 4] and evaluations[0]["epoch"] > 0
        for evaluations in curves.values()
    )
    masks = ["--only", "masks", "--json"]
    shown = acclimate("report", tmp_path / "joint", tmp_path / "span", *masks).json["masks"]["runs"]
    assert [run["policy"] for run in shown] == ["joint", "span"]
