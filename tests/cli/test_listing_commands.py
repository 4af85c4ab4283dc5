"""`acclimate info recipes`, `corpora` and `settings`: what there is to choose from."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from command_line import QUICK, Files, acclimate

from acclimate import __version__
from acclimate.cli.settings import AdaptSettings
from acclimate.data.reading import BUNDLED, load_bundled
from acclimate.recipes.catalogue import RECIPES
from acclimate.settings import complete


def test_every_recipe_is_listed_with_its_settings() -> None:
    out = acclimate("info", "recipes").out
    for name, recipe in RECIPES.items():
        assert f"{name}: {recipe.summary}" in out
    assert "--set options.rounds=2" in out
    assert acclimate("info", "recipes", "--json").json["self-training"]["options"]["rounds"] == 2


def test_recipes_that_are_named_are_listed_alone() -> None:
    out = acclimate("info", "recipes", "compose", "auto").out
    assert "`acclimate info settings compose` shows it as YAML" in out
    assert [line.partition(":")[0] for line in out.splitlines() if not line.startswith(" ")] == ["compose", "auto"]
    assert list(acclimate("info", "recipes", "mat", "--json").json) == ["mat"]
    assert "parts" in acclimate("info", "recipes", "compose", "--json").json["compose"]
    assert "Did you mean 'mat'?" in acclimate("info", "recipes", "matt", code=2).err


def test_every_bundled_corpus_is_listed_with_its_sizes() -> None:
    out = acclimate("info", "corpora").out
    for name in BUNDLED:
        assert f"{name}: " in out
        assert all(f"{part} {len(corpus):,}" in out for part, corpus in load_bundled(name)._asdict().items())


def test_the_settings_printed_are_the_defaults(files: Files) -> None:
    printed = yaml.safe_load(acclimate("info", "settings").out)
    settings = complete(AdaptSettings, printed)
    assert settings.model_copy(update={"options": {}}) == AdaptSettings()


def test_every_setting_printed_is_explained_above() -> None:
    lines = [line.strip() for line in acclimate("info", "settings").out.splitlines()]
    for setting in ("words_per_batch: 256", "reading:", "seed: 1", "rounds: 3"):
        assert lines[lines.index(setting) - 1].startswith("# ")


def test_the_settings_printed_are_taken_back(files: Files, tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(acclimate("info", "settings", "self-training").out, encoding="utf-8")
    words = ["--source", files.news, "--target", files.tweets, *QUICK, "--out", tmp_path / "a", "--json"]
    assert acclimate("adapt", "--config", config, *words).json["recipe"] == "self-training"


@pytest.mark.parametrize(
    ("text", "place"),
    [("training:\n  updats: 3\n", ""), ("- a list\n", ""), ("a: [unclosed\n", ", line 2")],
)
def test_a_settings_file_that_is_none_is_named(text: str, place: str, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text(text, encoding="utf-8")
    assert f"error: {config}{place}: " in acclimate("adapt", "--config", config, code=2).err


def test_an_option_wins_over_the_file_and_set_over_both(files: Files, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text(
        f"source: {files.dev}\nseed: 3\nselect: last\ntarget: null\nrecipe: source-only\n", encoding="utf-8"
    )
    words = ["--source", files.news, "--seed", 4, "--set", "seed=5", *QUICK, "--out", tmp_path / "a"]
    acclimate("adapt", "--config", config, *words, "--quiet")
    kept = yaml.safe_load((tmp_path / "a" / "settings.yaml").read_text(encoding="utf-8"))
    assert (kept["source"], kept["seed"], kept["select"]) == (str(files.news), 5, "last")


def test_settings_of_an_unknown_recipe_are_wrong_usage() -> None:
    assert "Known: source-only" in acclimate("info", "settings", "magic", code=2).err


def test_info_names_versions_devices_extras_and_where_runs_go() -> None:
    lines = dict(line.split(":", 1) for line in acclimate("info").out.splitlines())
    assert lines["acclimate"].strip() == __version__
    assert "cpu" in lines["devices"]
    assert "runs" in lines["runs"]
    assert str(len(RECIPES)) in lines["recipes"]
