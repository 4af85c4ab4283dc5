"""Names behind `--set` that the pages show are names of settings, and their values can be."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from acclimate.cli.data_settings import BY_COMMAND
from acclimate.cli.reading import CorpusSettings, settings_of
from acclimate.cli.report_parts import ReportSettings
from acclimate.cli.settings import AdaptSettings, CompareSettings, CompressSettings
from acclimate.cli.task import compare_settings, options_of, with_fitting_encoder
from acclimate.recipes.catalogue import AUTO, RECIPES, find_recipe
from acclimate.reproduction.table import CellSettings, cells_of, find_table
from acclimate.runs.domain_tune import DomainTuneSettings
from acclimate.runs.pretrain import PretrainSettings
from acclimate.runs.settings import RunSettings
from acclimate.serving.settings import ServeSettings
from acclimate.settings import SettingsError, complete, gathered
from acclimate.training.settings import TrainingSettings
from doc_pages import COMMANDS, DOCS, MARKDOWN, command_of, examples, name_of, running_text, understood

OF_COMMANDS: tuple[Any, ...] = (
    *BY_COMMAND.values(),
    CorpusSettings,
    AdaptSettings,
    CompareSettings,
    CompressSettings,
    CellSettings,
    DomainTuneSettings,
    PretrainSettings,
    ReportSettings,
    ServeSettings,
)
TODAY = [page for page in MARKDOWN if page.stem != "CHANGELOG"]  # which tells of what was, too
OPTIONS = [options_of(name) for name in (*RECIPES, AUTO)]


def check_adapt(given: dict[str, Any]) -> None:
    values = gathered(None, {"tagger.encoder": given["encoder"]}, given["assignments"])
    options = values.pop("options", {})
    settings = complete(AdaptSettings, with_fitting_encoder(values))
    recipe = given["recipe"] or settings.recipe
    if given["config"] is None:
        complete(options_of(recipe), options, where=recipe)
    else:  # the file may name another recipe
        assert all(any(name in kind.model_fields for kind in OPTIONS) for name in options)


def check_compare(given: dict[str, Any]) -> None:
    for recipe, own in compare_settings(None, {"tagger.encoder": given["encoder"]}, given["assignments"]).each.items():
        complete(find_recipe(recipe).options, complete(RunSettings, own, where=recipe).options, where=recipe)


CHECKS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "adapt": check_adapt,
    "compare": check_compare,
    "compress": lambda given: complete(CompressSettings, gathered(None, {}, given["assignments"])),
    "encoder domain-tune": lambda given: complete(DomainTuneSettings, gathered(None, {}, given["assignments"])),
    "encoder pretrain": lambda given: complete(PretrainSettings, gathered(None, {}, given["assignments"])),
    "report": lambda given: complete(ReportSettings, gathered(None, {}, given["assignments"])),
    "serve": lambda given: complete(ServeSettings, gathered(None, {}, given["assignments"])),
    "papers reproduce": lambda given: cells_of(find_table(given["name"]), given["scale"], given["assignments"]),
}


for _name in COMMANDS:  # of those that only read or write corpora
    _kind = BY_COMMAND.get(_name.split()[-1], CorpusSettings)
    CHECKS.setdefault(_name, lambda given, kind=_kind: settings_of(kind, given["assignments"]))


def check_settings(words: list[str]) -> None:
    given = understood(words)
    if given.get("assignments"):
        CHECKS[command_of(words)](given)


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_the_settings_of_a_page_s_examples_can_be(page: Path) -> None:
    for words in examples(page):
        if "training.updats=500" not in words:  # shown with what a mistake is answered with
            check_settings(words)


@pytest.mark.parametrize("page", TODAY, ids=name_of)
def test_the_names_behind_set_in_the_running_text_are_those_of_settings(page: Path) -> None:
    text = running_text(page)
    kinds = (*OF_COMMANDS, *((TrainingSettings,) if "benchmarks/" in text else ()))  # benchmarks have a --set, too
    for name in re.findall(r"--set\s+'?([a-z][\w.-]*)=", text):
        assert is_setting(name.split("."), kinds), name


@pytest.mark.parametrize("page", [page for page in TODAY if page.is_relative_to(DOCS / "how-to")], ids=name_of)
def test_settings_named_in_a_guide_are_settings(page: Path) -> None:
    for name in re.findall(
        r"`((?:options|training|tagger|policy|reading|masks|serve)\.[a-z][\w.]*)", running_text(page)
    ):
        assert is_setting(name.split("."), OF_COMMANDS), name


def is_setting(keys: list[str], kinds: tuple[type[BaseModel], ...]) -> bool:
    """Whether the dotted name leads to a setting of one of these groups."""
    if keys[0] in RECIPES:
        of_options = keys[1] == "options" and _leads(keys[2:], find_recipe(keys[0]).options)
        return of_options or _leads(keys[1:], RunSettings)
    if keys[0] == "options":
        return any(_leads(keys[1:], kind) for kind in OPTIONS)
    return any(_leads(keys, kind) for kind in kinds)


def _leads(keys: list[str], kind: type[BaseModel]) -> bool:
    key, *rest = keys
    if key not in kind.model_fields:
        return False
    rest = rest[1:] if rest and rest[0].isdigit() else rest  # a place in a list
    return not rest or any(_leads(rest, inner) for inner in _groups(kind.model_fields[key].annotation))


def _groups(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [kind for inner in get_args(annotation) for kind in _groups(inner)]


@pytest.mark.parametrize(
    "words",
    [
        "adapt --set training.updats=3",
        "adapt --recipe mat --set options.rounds=3",
        "adapt … --recipe pdaln --set options.variant=mean",
        "compare --set pdaln.options.round=2",
        "compare --set tagger.lstm.widht=2",
        "papers reproduce mat-table1 --scale small --set mslm.options.elm=1",
        "encoder pretrain --out here --set trainig.updates=3",
    ],
)
def test_a_wrong_setting_would_be_noticed(words: str) -> None:
    with pytest.raises(SettingsError):
        check_settings(["acclimate", *words.split()])


@pytest.mark.parametrize("name", ["training.updats", "options.nosuch", "mat.options.rounds", "options.each.mat.rounds"])
def test_a_wrong_name_would_be_noticed(name: str) -> None:
    assert not is_setting(name.split("."), OF_COMMANDS)
