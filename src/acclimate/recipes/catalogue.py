"""The recipes by the names people type. To add one is to add one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from acclimate.methods.alignment.domain_discriminator import diagnosis
from acclimate.recipes.acclimate import ACCLIMATE
from acclimate.recipes.baselines import BASELINE, LA_DTL, SELF_TRAINING, START, TARGET_ONLY
from acclimate.recipes.compose import COMPOSE
from acclimate.recipes.datnet import DATNET
from acclimate.recipes.domain_tuning import ADVERSARIAL_MASKING
from acclimate.recipes.mat import MAT
from acclimate.recipes.mslm import MSLM, weights_of_masks
from acclimate.recipes.pdaln import PDALN
from acclimate.recipes.recipe import Recipe
from acclimate.recipes.source_free import SOURCE_FREE
from acclimate.settings import UsageError
from acclimate.spelling import argument, did_you_mean

__all__ = [
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

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        BASELINE,
        TARGET_ONLY,
        SELF_TRAINING,
        SOURCE_FREE,
        ADVERSARIAL_MASKING,
        MAT,
        DATNET,
        MSLM,
        PDALN,
        LA_DTL,
        ACCLIMATE,
        COMPOSE,
    )
}


def default_recipe(has_target: bool = True, has_source: bool = True) -> str:
    """The recipe of a run that names none, in Python as on the command line."""
    if not has_source:
        return SOURCE_FREE.name
    return ACCLIMATE.name if has_target else BASELINE.name


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
    """The recipes that take labelled target sentences with any labels, as people read them."""
    *names, last = (name for name, recipe in RECIPES.items() if recipe.own_tagger != "never")
    return f"{', '.join(names)} or {last}"


def find_recipe(name: str) -> Recipe:
    if name in RECIPES:
        return RECIPES[name]
    if name == "auto":
        raise UsageError(
            "auto is a race of recipes, and no recipe: acclimate adapt --recipe auto, or race(...) in Python. See "
            "docs/how-to/race-recipes.md."
        )
    raise UsageError(
        f"Unknown recipe {name!r}.{did_you_mean(name, RECIPES)} Known: {', '.join(RECIPES)}; for adapt, also auto."
    )


def record_remarks(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What the rows of a run's record say about its training."""
    game = diagnosis(rows)
    return (*(() if game is None else (game,)), *weights_of_masks(rows))
