"""`acclimate compare`: one table or one object on stdout, runs and tables in the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from command_line import QUICK, Answer, Files, acclimate

from acclimate.cli.task import compare_settings
from acclimate.settings import SettingsError
from acclimate.training import run as training_run

FEW = ["--set", "selectors=source-dev,entropy", "--set", "rounds=20"]


@pytest.fixture(scope="module")
def words(files: Files) -> list[object]:
    given = ["--source", files.news, "--source-dev", files.dev, "--target", files.tweets, "--target-test", files.gold]
    return ["compare", *given, "--recipes", "source-only,self-training", *QUICK, *FEW]


@pytest.fixture(scope="module")
def compared(words: list[object], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    folder = tmp_path_factory.mktemp("compared")
    return folder, acclimate(*words, "--seeds", 2, "--out", folder, "--json")


def test_a_comparison_is_no_run_and_its_runs_are_named(compared: tuple[Path, Answer], files: Files) -> None:
    folder, _ = compared
    such = f"Name one of its runs, such as {folder / 'runs' / 'self-training' / 'seed-1'}."
    for words in (
        ["evaluate", folder, files.gold],
        ["predict", folder, files.tweets],
        ["report", folder, "--only", "curves"],
    ):
        answer = acclimate(*words, code=1)
        assert "this is a comparison" in answer.err
        assert such in answer.err


def test_json_is_one_object_and_that_of_the_file(compared: tuple[Path, Answer]) -> None:
    folder, answer = compared
    assert answer.out.count("\n") == 1
    stored = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    assert answer.json == {"folder": str(folder), **stored}
    assert [(row["recipe"], row["seeds"]) for row in stored["recipes"]] == [
        ("source-only", [1, 2]),
        ("self-training", [1, 2]),
    ]
    assert {choice["selector"] for choice in stored["selectors"]} == {"source-dev", "entropy"}


def test_progress_goes_to_stderr(compared: tuple[Path, Answer]) -> None:
    err = compared[1].err
    assert "4 runs: 0 finished before, 0 to go on with, 4 to begin" in err
    assert "4 of 4: self-training, seed 2, " in err


def test_the_same_command_with_one_more_seed_makes_only_what_is_missing(
    compared: tuple[Path, Answer], words: list[object]
) -> None:
    folder, _ = compared
    answer = acclimate(*words, "--seeds", "1,2,5", "--out", folder)
    assert "6 runs: 4 finished before, 0 to go on with, 2 to begin" in answer.err
    assert "news.conll → " in answer.out
    assert "self-training" in answer.out
    assert f"tables: {folder}/comparison.md" in answer.out


def test_settings_of_one_recipe_from_the_command_line_and_from_a_file(
    words: list[object], tmp_path: Path, files: Files
) -> None:
    own = ["--set", "self-training.options.rounds=1", "--set", "self-training.training.updates=4"]
    first = acclimate(*words, *own, "--seeds", 1, "--out", tmp_path / "a", "--json").json
    config = tmp_path / "compare.yaml"
    config.write_text(yaml.safe_dump({"self-training": {"options": {"rounds": 1}, "training": {"updates": 4}}}))
    second = acclimate(*words, "--config", config, "--seeds", 1, "--out", tmp_path / "b", "--json").json
    for found in (first, second):
        assert [run["updates"] for run in found["runs"]] == [6, 4 + 1]


def test_settings_of_one_recipe_from_several_places_are_put_together(tmp_path: Path) -> None:
    config = tmp_path / "compare.yaml"
    config.write_text(
        yaml.safe_dump(
            {"each": {"pdaln": {"training": {"updates": 7}, "options": {"rounds": 3}}, "mat": {"select": "last"}}}
        )
    )
    found = compare_settings(config, {}, ["pdaln.options.rounds=1"])
    assert found.each == {
        "pdaln": {"training": {"updates": 7}, "options": {"rounds": 1}},
        "mat": {"select": "last"},
    }


@pytest.mark.parametrize(("text", "is_right"), [("each:\n", True), ("each: all\n", False), ("each: [mat]\n", False)])
def test_settings_of_single_recipes_may_be_left_empty_in_a_file(tmp_path: Path, text: str, is_right: bool) -> None:
    config = tmp_path / "compare.yaml"
    config.write_text(text)
    if is_right:
        assert compare_settings(config, {}, None).each == {}
    else:
        with pytest.raises(SettingsError, match="setting 'each' cannot be"):
            compare_settings(config, {}, None)


def test_a_source_is_compared_on_bundled_posts_only_if_it_is_bundled_or_they_are_named(tmp_path: Path) -> None:
    config = tmp_path / "compare.yaml"
    config.write_text("source: mine.conll\n")
    assert compare_settings(None, {}, None).target == "social"
    assert compare_settings(config, {}, None).target is None
    assert compare_settings(None, {}, ["source=mine.conll"]).target is None
    assert compare_settings(None, {"source": "mine.conll"}, None).target is None
    assert compare_settings(config, {"target": "social"}, None).target == "social"


def test_an_option_reaches_the_settings_letter_by_letter() -> None:
    assert compare_settings(None, {"source": "😀.conll", "share": 1e-05}, None).source == "😀.conll"


def test_ctrl_c_says_how_to_go_on(words: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(training_run, "_save_finished", stop)
    answer = acclimate(*words, "--out", tmp_path / "a", code=130)
    assert answer.out == ""
    assert f"What {tmp_path / 'a'} holds is kept: the same command goes on" in answer.err


def test_without_target_labels_only_the_selectors_speak(files: Files, tmp_path: Path) -> None:
    given = ["--source", files.news, "--target", files.tweets, "--recipes", "self-training", "--seeds", 1]
    answer = acclimate("compare", *given, *QUICK, *FEW, "--out", tmp_path / "a", "--quiet")
    assert answer.err == ""
    assert "No target test sentences were given: nothing can be scored on the target." in answer.out
    assert "would choose" in answer.out


@pytest.mark.parametrize(
    ("more", "words_of_it"),
    [
        (["--recipes", "datnett"], "Did you mean 'datnet'?"),
        (["--recipes", "la-dtl"], "la-dtl learns from labelled target sentences"),
        (["--seeds", "many"], "seeds cannot be 'many'"),
        (["--seeds", "99999999999999999999"], "One seed alone has a comma: 99999999999999999999,"),
        (["--seeds", "1,99999999999999999999"], "The seed cannot be 99999999999999999999: give a number from 0 to"),
        (["--set", "selectors=crystal-ball"], "Unknown selector 'crystal-ball'"),
        (["--set", "self-training=3"], "name one of its settings, such as self-training.options"),
        (["--set", "self-training.options.round=3"], "Did you mean rounds?"),
        (["--set", "datnet.training.updates=3"], "settings for 'datnet', which is not compared"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_trained(
    words: list[object], tmp_path: Path, more: list[str], words_of_it: str
) -> None:
    answer = acclimate(*words, *more, "--out", tmp_path / "a", code=2)
    assert words_of_it in answer.err
    assert not (tmp_path / "a").exists()


def test_a_folder_holds_a_run_or_a_comparison_and_not_both(
    compared: tuple[Path, Answer], words: list[object], adapt_words: list[object], tagger: Path
) -> None:
    folder, _ = compared
    before = (folder / "settings.yaml").read_text(encoding="utf-8")
    for flags in ([], ["--overwrite"]):
        answer = acclimate(*adapt_words, "--out", folder, *flags, code=2)
        assert f"{folder} holds a comparison. Choose another --out" in answer.err
    assert (folder / "settings.yaml").read_text(encoding="utf-8") == before
    assert f"{tagger} holds a run of adapt. Choose another --out" in acclimate(*words, "--out", tagger, code=2).err
    assert not (tagger / "runs").exists()


def test_a_file_is_no_folder_for_a_comparison(words: list[object], files: Files) -> None:
    assert f"{files.gold} is a file; a comparison needs a folder." in acclimate(*words, "--out", files.gold, code=2).err


def test_a_misspelled_selector_is_answered_with_what_was_meant(words: list[object], tmp_path: Path) -> None:
    answer = acclimate(*words, "--set", "selectors=entopy", "--out", tmp_path / "c", code=2)
    assert "Unknown selector 'entopy'. Did you mean 'entropy'? Known: source-dev, " in answer.err


def test_what_a_recipe_lacks_is_named_as_an_option(words: list[object], tmp_path: Path) -> None:
    answer = acclimate(*words, "--recipes", "la-dtl", "--out", tmp_path / "c", code=2)
    assert "give --target-labelled" in answer.err
