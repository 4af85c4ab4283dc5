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
    return folder, acclimate(*words, "--target-test", files.gold, *sets, "--head", "softmax", "--out", folder, "--json")


def test_it_needs_no_target_text(trained: tuple[Path, Answer]) -> None:
    assert trained[1].json["recipe"] == "mslm"
    assert [stage["stage"] for stage in trained[1].json["stages"]] == ["source", "mslm"]


def test_its_tagger_predicts_typed_entities(trained: tuple[Path, Answer], files: Files) -> None:
    rows = acclimate("predict", trained[0], files.news).out.splitlines()
    found = {row.split("\t")[1] for row in rows if row}
    assert {"O", "B-LOC", "B-ORG", "B-PER"} <= found <= set(Tagger.load(trained[0]).tags)
    assert "F1" in acclimate("evaluate", trained[0], files.dev).out
