"""`acclimate recipes`, `corpora` and `settings`: what there is to choose from."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from acclimate.cli.options import Json


def recipes_command(as_json: Json = False) -> None:
    """List the recipes and their own settings."""
    from acclimate.recipes.catalogue import RECIPES
    from acclimate.settings import flattened

    listed = {
        name: {"summary": recipe.summary, "options": recipe.options().model_dump(mode="json")}
        for name, recipe in RECIPES.items()
    }
    if as_json:
        typer.echo(json.dumps(listed, ensure_ascii=False))
        return
    for name, recipe in RECIPES.items():
        typer.echo(f"{name}: {recipe.summary}")
        for option, value in flattened(recipe.options().model_dump(mode="json")):
            typer.echo(f"  --set options.{option}={value if isinstance(value, str) else json.dumps(value)}")


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
    recipe: Annotated[str | None, typer.Option(help="Also show the settings of this recipe.")] = None,
    pretrain: Annotated[bool, typer.Option("--pretrain", help="The settings of `pretrain` instead.")] = False,
    domain_tune: Annotated[bool, typer.Option("--domain-tune", help="The settings of `domain-tune` instead.")] = False,
) -> None:
    """Print every setting of `adapt` with its default, as YAML for --config."""
    from acclimate.cli.settings import AdaptSettings
    from acclimate.recipes.catalogue import find_recipe
    from acclimate.settings import dump_yaml

    if pretrain:
        from acclimate.recipes.pretrain import PretrainSettings

        typer.echo(dump_yaml(PretrainSettings()), nl=False)
        return
    if domain_tune:
        from acclimate.recipes.domain_tune import DomainTuneSettings

        typer.echo(dump_yaml(DomainTuneSettings()), nl=False)
        return
    settings = AdaptSettings()
    chosen = find_recipe(recipe or settings.recipe)
    options = chosen.options().model_dump(mode="json")
    typer.echo(dump_yaml(settings.model_copy(update={"recipe": chosen.name, "options": options})), nl=False)
