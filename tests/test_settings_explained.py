"""Every setting has a line that explains it, and `acclimate info settings` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
import yaml
from pydantic import Field

from acclimate.cli.data_settings import BY_COMMAND
from acclimate.cli.reading import CorpusSettings
from acclimate.cli.settings import AdaptSettings, CompareSettings
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.compose_parts import OBJECTIVES
from acclimate.runs.domain_tune import DomainTuneSettings
from acclimate.runs.pretrain import PretrainSettings
from acclimate.serving.settings import ServeSettings
from acclimate.settings import Settings, dump_yaml, explained_yaml

ROOTS: list[type[Settings]] = [
    *BY_COMMAND.values(),
    CorpusSettings,
    *(AdaptSettings, CompareSettings, DomainTuneSettings, PretrainSettings, ServeSettings),
    *(recipe.options for recipe in RECIPES.values()),
    *(objective.settings for objective in OBJECTIVES.values()),
]


def groups_in(annotation: Any) -> Iterator[type[Settings]]:
    """Groups of settings in an annotation such as `Group | None` or `dict[str, Group]`, and in those groups."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        yield annotation
        for field in annotation.model_fields.values():
            yield from groups_in(field.annotation)
    else:
        for part in get_args(annotation):
            yield from groups_in(part)


GROUPS = {group.__qualname__: group for root in ROOTS for group in groups_in(root)}


def test_the_tree_of_settings_is_walked() -> None:
    assert {"TrainingSettings", "PairReadingSettings", "StageSettings", "DatnetRadii"} <= GROUPS.keys()
    assert sum(len(group.model_fields) for group in GROUPS.values()) > 300


@pytest.mark.parametrize("name", GROUPS)
def test_every_setting_has_one_line_that_explains_it(name: str) -> None:
    for setting, field in GROUPS[name].model_fields.items():
        assert field.description, f"{name}.{setting} is not explained"
        assert "\n" not in field.description
        assert field.description.endswith((".", '"')), f"{name}.{setting} is explained in a sentence"


class Oven(Settings):
    """A group."""

    degrees: int = 180
    """How hot it gets."""


class Kitchen(Settings):
    """A group with groups in it."""

    pots: tuple[str, ...] = ("wok", "pan")
    """What hangs there."""
    oven: Oven = Oven()
    """The large one."""
    others: tuple[Oven, ...] = (Oven(degrees=90),)
    """The small ones."""
    named: dict[str, Oven] = Field(default_factory=lambda: {"old": Oven(degrees=60)})
    """Those with names."""


def test_the_line_stands_above_the_setting() -> None:
    assert explained_yaml(Kitchen()).splitlines() == [
        *("# What hangs there.", "pots:", "- wok", "- pan"),
        *("# The large one.", "oven:", "  # How hot it gets.", "  degrees: 180"),
        *("# The small ones.", "others:", "-", "  # How hot it gets.", "  degrees: 90"),
        *("# Those with names.", "named:", "  old:", "    # How hot it gets.", "    degrees: 60"),
    ]


@pytest.mark.parametrize("recipe", RECIPES)
def test_explained_settings_are_the_same_settings(recipe: str) -> None:
    settings = RECIPES[recipe].options()
    assert (yaml.safe_load(explained_yaml(settings)) or {}) == yaml.safe_load(dump_yaml(settings))
