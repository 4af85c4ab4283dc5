"""Which runs a comparison is made of, and whether each can be made at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.inference.predict import require_scorable
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.recipes.catalogue import BASELINE, RECIPES, find_recipe, for_target_labels
from acclimate.recipes.recipe import Recipe, has_other_labels
from acclimate.runs.run import PlannedRun
from acclimate.runs.settings import RunSettings, SharedSettings
from acclimate.runs.task import BlindTask, Task
from acclimate.settings import SettingsError, UsageError, complete, require_seed
from acclimate.spelling import argument


def with_baseline(recipes: Sequence[str], against: str) -> list[str]:
    """The recipes once each, with what they are compared with among them, at the front if it was not named."""
    names = [find_recipe(name).name for name in dict.fromkeys(recipes)]
    if find_recipe(against).name not in names:
        names.insert(0, against)
    return names


def fitting_recipes(task: Task, encoder: str) -> list[str]:
    """All recipes that can be run on this data with this encoder, as they are."""

    def by_default(recipe: Recipe) -> bool:
        """Whether nothing has to be set otherwise."""
        if "target by default" in recipe.needs and not task.has_target:
            return False
        exchanges = "entities beside target labels" in recipe.needs and task.target_labelled is not None
        return not (exchanges and task.source.kind == "plain")

    return [name for name, recipe in RECIPES.items() if by_default(recipe) and not obstacle_for(recipe, task, encoder)]


def plan_runs(
    recipes: Sequence[str],
    seeds: Sequence[int],
    out: Path,
    task: Task,
    shared: SharedSettings,
    each: Mapping[str, Mapping[str, Any]],
) -> list[PlannedRun]:
    """Seed by seed, the baseline first: what is there when time runs out can be compared. `shared` are settings of all
    recipes, `each` those of single ones."""
    if not seeds:
        raise UsageError("a comparison needs one seed at least.")
    for seed in seeds:
        require_seed(seed)
    for name in each:
        if name not in recipes:
            raise SettingsError(f"settings for {name!r}, which is not compared. Compared: {', '.join(recipes)}.")
    settings = {name: _settings(name, shared, each.get(name, {})) for name in recipes}
    for name in recipes:
        obstacle = obstacle_for(find_recipe(name), task, settings[name].tagger.encoder)
        if obstacle:
            raise UsageError(obstacle)
    baseline = settings.get(BASELINE.name)
    ordered = sorted(recipes, key=lambda name: name != BASELINE.name)
    return [
        PlannedRun(
            settings[name].model_copy(update={"seed": seed}),
            folder_of(out, name, seed),
            folder_of(out, BASELINE.name, seed) if name != BASELINE.name and _alike(baseline, settings[name]) else None,
        )
        for seed in seeds
        for name in ordered
    ]


def folder_of(out: Path, recipe: str, seed: int) -> Path:
    """Of one run of a comparison."""
    return out / "runs" / recipe / f"seed-{seed}"


def require_scorable_test(test: Corpus | None, recipes: Sequence[str], task: BlindTask) -> None:
    """Refuse gold tags that the taggers to be trained cannot be scored on: runs never see them, and would not."""
    if test is not None and test.is_labelled:
        for recipe in recipes:
            require_scorable(task.labels_for(recipe), test)


def _alike(baseline: RunSettings | None, settings: RunSettings) -> bool:
    """Whether a baseline under these settings is the one that is there."""
    if baseline is None:
        return False
    own = {"recipe": baseline.recipe, "options": baseline.options}
    return settings.model_copy(update=own) == baseline


def _settings(recipe: str, shared: SharedSettings, own: Mapping[str, Any]) -> RunSettings:
    where = f"settings of {recipe}"
    for name in ("recipe", "seed"):
        if name in own:
            raise SettingsError(f"{where}: {name} is not a recipe's own: all recipes are trained with every seed.")
    settings = complete(RunSettings, {**merged(shared.model_dump(), own), "recipe": recipe}, where=where)
    options = complete(find_recipe(recipe).options, settings.options, where=f"options of recipe {recipe}")
    return settings.model_copy(update={"options": options.model_dump(mode="json")})


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two trees of settings as one; where both say something, the second counts."""
    result = dict(below)
    for name, value in above.items():
        here = result.get(name)
        both = isinstance(here, Mapping) and isinstance(value, Mapping)
        result[name] = merged(here, value) if both else value  # type: ignore[arg-type]
    return result


def obstacle_for(recipe: Recipe, task: Task, encoder: str) -> str:
    """Why a recipe cannot be run; empty if it can."""
    if "target labels" in recipe.needs and task.target_labelled is None:
        return f"Recipe {recipe.name} learns from labelled target sentences: give some ({argument('target_labelled')})."
    if "target" in recipe.needs and not task.has_target:
        return f"Recipe {recipe.name} needs target text ({argument('target')})."
    if "language model" in recipe.needs and encoder == CNN_LSTM:
        return f"Recipe {recipe.name} needs a pre-trained encoder, and {CNN_LSTM} is none."
    if "entities" in recipe.needs and task.source.kind == "plain":
        return f"Recipe {recipe.name} learns from entities, and the plain tags of {task.source.name} have none."
    few = task.target_labelled
    if few is not None and has_other_labels(task.source, few) and not recipe.trains_target(task.source, few):
        return (
            f"Recipe {recipe.name} has the source's labels, and the labelled target sentences have others. Compare "
            f"{for_target_labels()}, which train a tagger with the target's own labels, against target-only."
        )
    return ""
