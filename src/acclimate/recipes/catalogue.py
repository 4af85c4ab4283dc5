"""The recipes by name. A new recipe is a module and one line here; a module is imported when its recipe is used."""

from __future__ import annotations

import runpy
from collections import UserDict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from acclimate.recipes.baselines import BASELINE, START, TARGET_ONLY
from acclimate.recipes.recipe import Recipe
from acclimate.settings import UsageError
from acclimate.spelling import argument, did_you_mean

__all__ = [
    "AUTO",
    "BASELINE",
    "RECIPES",
    "START",
    "TARGET_ONLY",
    "default_recipe",
    "find_recipe",
    "for_target_labels",
    "record_remarks",
    "require_source",
]

AUTO = "auto"  # in place of a recipe: a committee of the recipes that suit the corpora


class _Recipes(UserDict[str, Recipe]):
    """Recipes by name, each imported when it is asked for."""

    def __getitem__(self, name: str) -> Recipe:
        recipe: Any = self.data[name]
        if isinstance(recipe, str):
            module, _, constant = recipe.partition(":")
            recipe = self.data[name] = getattr(import_module(f"acclimate.recipes.{module}"), constant)
        return recipe  # type: ignore[no-any-return]


_PLACES: dict[str, Any] = {
    BASELINE.name: BASELINE,
    TARGET_ONLY.name: TARGET_ONLY,
    "self-training": "baselines:SELF_TRAINING",
    "source-free": "source_free:SOURCE_FREE",
    "adversarial-masking": "domain_tuning:ADVERSARIAL_MASKING",
    "mat": "mat:MAT",
    "datnet": "datnet:DATNET",
    "mslm": "mslm:MSLM",
    "pdaln": "pdaln:PDALN",
    "la-dtl": "baselines:LA_DTL",
    "acclimate": "acclimate:ACCLIMATE",
    "compose": "compose:COMPOSE",
}
RECIPES = _Recipes()
RECIPES.data = _PLACES


def default_recipe(has_target: bool = True, has_source: bool = True) -> str:
    """The recipe of a run that names none, in Python as on the command line."""
    if not has_source:
        return "source-free"
    return "acclimate" if has_target else BASELINE.name


def require_source(recipe: Recipe, has_source: bool) -> None:
    """Refuse a recipe that learns the tags from a source, where there is none."""
    if recipe.needs_source and not has_source:
        without = " or ".join(name for name, other in RECIPES.items() if not other.needs_source)
        raise UsageError(
            f"Recipe {recipe.name} learns from labelled source sentences, and there are none: give some "
            f"({argument('source')}), or take a recipe without a source ({without})."
        )


def _split(names: Any) -> Any:
    return tuple(name.strip() for name in names.split(",") if name.strip()) if isinstance(names, str) else names


def _known(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(find_recipe(name).name for name in names)


RecipeNames = Annotated[tuple[str, ...], BeforeValidator(_split), AfterValidator(_known)]
"""Recipes as settings name them: a list, or one string with commas."""


def for_target_labels() -> str:
    """The recipes that take labelled target sentences with any labels, for messages."""
    *names, last = (name for name, recipe in RECIPES.items() if recipe.own_tagger != "never")
    return f"{', '.join(names)} or {last}"


def find_recipe(name: str) -> Recipe:
    """By its name, or out of a Python file that holds one."""
    if name in RECIPES:
        return RECIPES[name]
    if name.endswith(".py"):
        return _recipe_in(name)
    if name == AUTO:
        raise UsageError(
            "auto is a committee of several recipes, and no recipe: acclimate adapt --recipe auto. See "
            "docs/how-to/ask-a-committee.md."
        )
    raise UsageError(
        f"Unknown recipe {name!r}.{did_you_mean(name, RECIPES)} Known: {', '.join(RECIPES)}; for adapt, also auto."
    )


@lru_cache
def _recipe_in(file: str) -> Recipe:
    """The recipe that a Python file makes."""
    if not Path(file).is_file():
        raise UsageError(f"Recipe {file}: there is no such file.")
    recipes = [value for value in runpy.run_path(file).values() if isinstance(value, Recipe)]
    own = {recipe.name: recipe for recipe in recipes if recipe.name not in RECIPES}
    if len(own) != 1:
        raise UsageError(f"Recipe {file}: expected one Recipe with a new name in it, found {len(own)}.")
    return own.popitem()[1]


def record_remarks(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Remarks on a training from the rows of its record."""
    if not any(row["kind"] == "game" for row in rows):
        return ()
    from acclimate.methods.alignment.domain_discriminator import diagnosis

    found = diagnosis(rows)
    return () if found is None else (found,)
