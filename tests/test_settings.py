"""Settings: what is unknown is refused with a suggestion, what is wrong is explained, and YAML comes back the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import Field, field_validator

from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstmSettings
from acclimate.recipes.catalogue import RECIPES
from acclimate.settings import (
    Settings,
    SettingsError,
    complete,
    dump_yaml,
    load_yaml,
    with_assignments,
)
from acclimate.training.settings import TrainingSettings


class Oven(Settings):
    degrees: int = Field(180, ge=0)
    fan: bool = False


class Kitchen(Settings):
    name: str
    oven: Oven = Oven()
    spare: Oven | None = None
    pots: tuple[str, ...] = ()

    @field_validator("name")
    @classmethod
    def _not_taken(cls, name: str) -> str:
        if name in ("yours", "theirs"):
            raise SettingsError("that one is taken." if name == "yours" else "whose is it")
        return name


def test_what_is_not_given_is_filled_in() -> None:
    assert complete(Kitchen, {"name": "mine", "oven": {"fan": True}}).oven == Oven(degrees=180, fan=True)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"name": "k", "ovn": {}}, "unknown setting 'ovn'. Did you mean oven?"),
        ({"name": "k", "oven": {"degree": 1}}, "unknown setting 'oven.degree'. Did you mean oven.degrees?"),
        ({"name": "k", "spare": {"fann": True}}, "unknown setting 'spare.fann'. Did you mean spare.fan?"),
        ({"name": "k", "oven": {"zzz": 1}}, "unknown setting 'oven.zzz'. Known here: degrees, fan."),
        ({}, "setting 'name' is missing and has no default."),
        (
            {"name": "k", "oven": {"degrees": "hot"}},
            "setting 'oven.degrees' cannot be 'hot': Input should be a valid int",
        ),
        ({"name": "k", "oven": {"degrees": -1}}, "setting 'oven.degrees' cannot be -1: Input should be greater"),
        ({"name": "k", "oven": 7}, "setting 'oven' cannot be 7"),
        ({"name": "k", 3: "x"}, "setting '3'"),
        ({"name": "k", "pots": "one"}, "setting 'pots' cannot be 'one': Input should be a list."),
    ],
)
def test_a_mistake_is_explained_with_its_whole_name(values: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as failure:
        complete(Kitchen, values, where="kitchen.yaml")
    assert str(failure.value).startswith("kitchen.yaml: ")
    assert words in str(failure.value)


@pytest.mark.parametrize(("name", "why"), [("yours", "that one is taken."), ("theirs", "whose is it.")])
def test_the_words_of_a_check_stand_as_they_were_written(name: str, why: str) -> None:
    with pytest.raises(SettingsError) as failure:
        complete(Kitchen, {"name": name})
    assert str(failure.value) == f"settings: setting 'name' cannot be {name!r}: {why}"


def test_every_mistake_is_told_at_once() -> None:
    with pytest.raises(SettingsError, match=r"(?s)'oven\.fan'.*'fridge'"):
        complete(Kitchen, {"name": "k", "oven": {"fan": "maybe"}, "fridge": 1})


def test_settings_cannot_change_under_a_running_job() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Oven().degrees = 3  # type: ignore[misc]


@pytest.mark.parametrize("kind", [TrainingSettings, CharacterCnnLstmSettings, *(r.options for r in RECIPES.values())])
def test_completed_settings_come_back_from_yaml(kind: type[Settings], tmp_path: Path) -> None:
    settings = complete(kind, {})
    (tmp_path / "settings.yaml").write_text(dump_yaml(settings), encoding="utf-8")
    assert complete(kind, load_yaml(tmp_path / "settings.yaml")) == settings


def test_nested_settings_and_odd_names_come_back_from_yaml(tmp_path: Path) -> None:
    settings = Kitchen(name="Küche 😀: #1", spare=Oven(degrees=3))
    (tmp_path / "settings.yaml").write_text(dump_yaml(settings), encoding="utf-8")
    assert complete(Kitchen, load_yaml(tmp_path / "settings.yaml")) == settings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a\n- b", "expected a mapping of settings, found list"),
        ("a: [1", r"bad\.yaml, line 1: not readable as YAML: expected .*\.$"),
    ],
)
def test_a_file_that_holds_no_settings_is_refused_by_name(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(SettingsError, match=words) as failure:
        load_yaml(tmp_path / "bad.yaml")
    assert "bad.yaml" in str(failure.value)


def test_a_folder_is_no_settings_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"is a folder: name a settings file, such as .*settings\.yaml\.$"):
        load_yaml(tmp_path)


def test_yaml_that_would_run_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: !!python/object/apply:os.getcwd []")
    with pytest.raises(SettingsError, match="not readable as YAML"):
        load_yaml(tmp_path / "bad.yaml")


def test_an_empty_file_is_no_settings_and_a_missing_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("# nothing yet\n")
    assert load_yaml(tmp_path / "empty.yaml") == {}
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: no such settings file"):
        load_yaml(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        ("-2E5", -2e5),
        ("1.5e3", 1500.0),
        ("0.5", 0.5),
        ("3", 3),
        ("null", None),
        ("", None),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ("IOB2", "IOB2"),
        ("a=b", "a=b"),
        ("nan", "nan"),
        ("infinity", "infinity"),
        ("'1e-3'", "1e-3"),
        ('"2024"', "2024"),
        ("[half open", "[half open"),
        ("2024-13-45", "2024-13-45"),
        ("models/bert: large", {"models/bert": "large"}),
    ],
)
def test_an_assignment_is_read_as_yaml_with_the_numbers_people_mean(text: str, value: object) -> None:
    found = with_assignments({}, [f"key={text}"])["key"]
    assert found == value
    assert type(found) is type(value)


def test_assignments_reach_into_groups_make_missing_ones_and_leave_the_rest() -> None:
    values = {"training": {"clip": 1.0, "epochs": 3}, "seed": 1}
    found = with_assignments(values, ["training.clip=null", "tagger.contextual.mix=learned", "seed=7", "seed=8"])
    assert found == {"training": {"clip": None, "epochs": 3}, "tagger": {"contextual": {"mix": "learned"}}, "seed": 8}
    assert values == {"training": {"clip": 1.0, "epochs": 3}, "seed": 1}


@pytest.mark.parametrize("assignment", ["clip", "=3", "training..clip=3", ".clip=3", "training.=3"])
def test_an_assignment_that_is_none_is_refused(assignment: str) -> None:
    with pytest.raises(SettingsError, match=f"--set {assignment}: expected NAME=VALUE"):
        with_assignments({}, [assignment])


def test_numbers_that_yaml_reads_as_text_are_still_numbers_in_a_settings_file(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("learning_rate: 1e-3\nbetas: [9e-1, 0.99]")
    settings = complete(TrainingSettings, load_yaml(tmp_path / "settings.yaml"))
    assert (settings.learning_rate, settings.betas) == (0.001, (0.9, 0.99))


def test_settings_of_settings_files_are_plain_yaml() -> None:
    assert yaml.safe_load(dump_yaml(TrainingSettings()))["betas"] == [0.9, 0.999]


def test_a_place_in_a_list_is_set_by_its_number() -> None:
    given = {"stages": [{"updates": 1}, {"updates": 2}]}
    assert with_assignments(given, ["stages.1.updates=9"]) == {"stages": [{"updates": 1}, {"updates": 9}]}
    assert given["stages"][1]["updates"] == 2
    for wrong in ("stages.2.updates=1", "stages.a.updates=1"):
        with pytest.raises(SettingsError, match="is no number of the list there, 0 to 1"):
            with_assignments(given, [wrong])
