"""`acclimate adapt --recipe FILE.py`: a recipe of one's own."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import QUICK, Files, acclimate

PLAIN = """
from acclimate.methods.objective import Tagging
from acclimate.recipes.recipe import Recipe
from acclimate.training.stage import Stage


def plainly(tagger, plan):
    batches = plan.batches(tagger, {"source": plan.source, "target": plan.target})
    yield Stage("learn", {"tagging": Tagging()}, batches, plan.training)


MINE = Recipe("mine", "learn the source", plainly)
"""


def test_a_recipe_may_stand_in_a_file(files: Files, tmp_path: Path) -> None:
    place = tmp_path / "mine.py"
    place.write_text(PLAIN, encoding="utf-8")
    words = ["adapt", "--source", files.news, "--target", files.tweets, *QUICK, "--recipe", place]
    acclimate(*words, "--out", tmp_path / "a", "--quiet")
    assert json.loads((tmp_path / "a" / "report.json").read_text(encoding="utf-8"))["recipe"] == "mine"
    begun = json.loads((tmp_path / "a" / "run.json").read_text(encoding="utf-8"))
    assert str(place) in begun["files"]


def test_a_file_without_a_recipe_is_wrong_usage(files: Files, tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("", encoding="utf-8")
    words = ["adapt", "--source", files.news, "--target", files.tweets, "--recipe"]
    assert "found 0" in acclimate(*words, tmp_path / "none.py", code=2).err
    assert "there is no such file" in acclimate(*words, tmp_path / "gone.py", code=2).err
