"""`acclimate recipes`, `corpora` and `settings`: what there is to choose from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from acclimate.cli.options import Json


def recipes_command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[RECIPE]...", help="Only these.", show_default="all")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the recipes and their own settings."""
    from acclimate.comparison.race_settings import AUTO, RaceSettings
    from acclimate.recipes.catalogue import RECIPES, find_recipe

    race = "a race of the others, of which the winner is taken (see docs/auto.md)"
    listed = {
        **{
            name: {"summary": recipe.summary, "options": recipe.options().model_dump(mode="json")}
            for name, recipe in RECIPES.items()
        },
        AUTO: {"summary": race, "options": RaceSettings().model_dump(mode="json")},
    }
    if names:
        listed = {name: listed[name if name == AUTO else find_recipe(name).name] for name in names}
    if as_json:
        for name, recipe in RECIPES.items():
            if recipe.parts and name in listed:
                listed[name]["parts"] = {kind: list(names) for kind, names in recipe.parts.items()}
        typer.echo(json.dumps(listed, ensure_ascii=False))
        return
    for name, found in listed.items():
        typer.echo(f"{name}: {found['summary']}")
        for line in _option_lines(name, found["options"]):
            typer.echo(f"  {line}")
        for kind, part_names in RECIPES[name].parts.items() if name in RECIPES else ():
            typer.echo("\n".join([f"  {kind}:", *(f"    {part}" for part in part_names)]))


def _option_lines(recipe: str, options: Any) -> Iterator[str]:
    """As they can be set. A list of groups is written in a file, and too long for a line."""
    from acclimate.settings import flattened

    for option, value in flattened(options):
        if isinstance(value, list) and any(isinstance(part, dict) for part in value):
            yield f"options.{option}: a list; `acclimate settings --recipe {recipe}` shows it as YAML"
        else:
            yield f"--set options.{option}={value if isinstance(value, str) else json.dumps(value)}"


def corpora_command(as_json: Json = False) -> None:
    """List the corpora that ship with Acclimate."""
    from acclimate.data.bundled import BUNDLED, load_bundled

    listed = {}
    for name in BUNDLED:
        domain = load_bundled(name)
        listed[name] = {part: len(corpus) for part, corpus in domain._asdict().items()}
    if as_json:
        typer.echo(json.dumps(listed))
        return
    for name, sizes in listed.items():
        parts = ", ".join(f"{part} {count:,}" for part, count in sizes.items())
        typer.echo(f"{name}: {BUNDLED[name]} ({parts} sentences)")
    typer.echo("Use them by name wherever a file is asked for: news, social/test, clinical/unlabelled.")


def settings_command(
    recipe: Annotated[
        str | None, typer.Option(help="Whose own settings stand under options.", show_default="acclimate")
    ] = None,
    pretrain: Annotated[bool, typer.Option("--pretrain", help="The settings of `pretrain` instead.")] = False,
    domain_tune: Annotated[bool, typer.Option("--domain-tune", help="The settings of `domain-tune` instead.")] = False,
) -> None:
    """Print every setting of `adapt` with its default and a line that explains it, as YAML for --config."""
    from acclimate.cli.settings import AdaptSettings
    from acclimate.cli.task import options_of
    from acclimate.settings import explained_yaml

    if pretrain:
        from acclimate.runs.pretrain import PretrainSettings

        typer.echo(explained_yaml(PretrainSettings()), nl=False)
        return
    if domain_tune:
        from acclimate.runs.domain_tune import DomainTuneSettings

        typer.echo(explained_yaml(DomainTuneSettings()), nl=False)
        return
    settings = AdaptSettings()
    chosen = recipe or settings.recipe
    own = {"recipe": chosen, "options": options_of(chosen)()}
    typer.echo(explained_yaml(settings.model_copy(update=own)), nl=False)
