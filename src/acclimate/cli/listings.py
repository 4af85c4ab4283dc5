"""`acclimate info`: what is installed here, and which recipes, settings and corpora there are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acclimate.cli.options import Json
from acclimate.spelling import count

if TYPE_CHECKING:
    from acclimate.settings import Settings


def info_command(context: typer.Context) -> None:
    """Show the versions, devices and extras that are installed here, and where runs go."""
    if context.invoked_subcommand is not None:
        return
    import platform
    from importlib.metadata import version
    from pathlib import Path

    import torch

    from acclimate import __version__
    from acclimate.data.reading import BUNDLED
    from acclimate.recipes.catalogue import RECIPES

    gpus = [f"cuda: {torch.cuda.get_device_name(number)}" for number in range(torch.cuda.device_count())]
    lines = {
        "acclimate": __version__,
        "Python": f"{platform.python_version()}, {platform.platform()}",
        "torch": f"{torch.__version__}, transformers {version('transformers')}",
        "devices": ", ".join([f"cpu ({count(torch.get_num_threads(), 'thread')})", *gpus]),
        "runs": f"go to {Path('runs').absolute()}, unless you name a folder with --out",
        "recipes": f"{len(RECIPES)}; `acclimate info recipes` lists them",
        "corpora": f"{', '.join(BUNDLED)}; `acclimate info corpora` lists them",
        "settings": "`acclimate info settings` lists them",
    }
    for name, value in lines.items():
        typer.echo(f"{name + ':':<11}{value}")


def recipes_command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[RECIPE]...", help="Only these.", show_default="all")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the recipes and their own settings."""
    from acclimate.recipes.catalogue import AUTO, RECIPES, find_recipe
    from acclimate.recipes.compose import COMPOSE, parts

    auto = "a committee of two or three recipes that suit the corpora (see docs/how-to/ask-a-committee.md)"
    listed: dict[str, dict[str, Any]] = {
        name: {"summary": recipe.summary, "options": recipe.options().model_dump(mode="json")}
        for name, recipe in RECIPES.items()
    }
    listed[COMPOSE.name]["parts"] = parts()
    listed[AUTO] = {"summary": auto, "options": {}}
    if names:
        listed = {name: listed[name if name == AUTO else find_recipe(name).name] for name in names}
    if as_json:
        typer.echo(json.dumps(listed, ensure_ascii=False))
        return
    for name, found in listed.items():
        typer.echo(f"{name}: {found['summary']}")
        for line in _option_lines(name, found["options"]):
            typer.echo(f"  {line}")
        for kind, part_names in found.get("parts", {}).items():
            typer.echo("\n".join([f"  {kind}:", *(f"    {part}" for part in part_names)]))


def _option_lines(recipe: str, options: Any) -> Iterator[str]:
    """As they can be set. A list of groups is written in a file, and too long for a line."""
    from acclimate.settings import flattened

    for option, value in flattened(options):
        if isinstance(value, list) and any(isinstance(part, dict) for part in value):
            yield f"options.{option}: a list; `acclimate info settings {recipe}` shows it as YAML"
        else:
            yield f"--set options.{option}={value if isinstance(value, str) else json.dumps(value)}"


def corpora_command() -> None:
    """List the corpora that ship with Acclimate."""
    from acclimate.data.reading import BUNDLED, load_bundled

    for name, about in BUNDLED.items():
        parts = ", ".join(f"{part} {len(corpus):,}" for part, corpus in load_bundled(name)._asdict().items())
        typer.echo(f"{name}: {about} ({parts} sentences)")
    typer.echo("Use them by name wherever a file is asked for: news, social/test, clinical/unlabelled.")
    typer.echo("social/few are 100 sentences of social/train; so with news and clinical.")


def settings_command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="A recipe, or compare, compress, reading, pretrain, domain-tune, label, suggest, augment, select, "
            "weak-label, collocations, inspect, serve.",
        ),
    ] = "acclimate",
) -> None:
    """Print every setting with its default and a line that explains it, as YAML for --config and --set.

    For a recipe these are the settings of adapt, with the recipe's own below `options`.
    """
    from acclimate.settings import explained_yaml

    typer.echo(explained_yaml(_settings_named(name)), nl=False)


def _settings_named(name: str) -> Settings:
    from acclimate.cli.data_settings import BY_COMMAND
    from acclimate.cli.reading import CorpusSettings
    from acclimate.cli.settings import AdaptSettings, CompareSettings, CompressSettings
    from acclimate.cli.task import options_of
    from acclimate.runs.domain_tune import DomainTuneSettings
    from acclimate.runs.pretrain import PretrainSettings
    from acclimate.serving.settings import ServeSettings

    of_commands: dict[str, type[Settings]] = {
        **BY_COMMAND,
        "reading": CorpusSettings,
        "serve": ServeSettings,
        "compare": CompareSettings,
        "compress": CompressSettings,
        "pretrain": PretrainSettings,
        "domain-tune": DomainTuneSettings,
    }
    if name in of_commands:
        return of_commands[name]()
    return AdaptSettings().model_copy(update={"recipe": name, "options": options_of(name)()})
