"""The parts of the reference that are made from the code: commands, settings, recipes.

A page names such a part in a comment, `<!-- made from the code: commands -->`. When Sphinx reads the page, the text
takes the comment's place (see `conf.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer

from acclimate.cli.data_settings import BY_COMMAND, LABEL
from acclimate.cli.main import app
from acclimate.cli.reading import ReadingSettings
from acclimate.cli.settings import AdaptSettings, CompareSettings
from acclimate.recipes.catalogue import RECIPES
from acclimate.runs.domain_tune import DomainTuneSettings
from acclimate.runs.pretrain import PretrainSettings
from acclimate.serving.settings import ServeSettings
from acclimate.settings import Settings

MARK = re.compile(r"^<!-- made from the code: ([a-z-]+) -->$", re.MULTILINE)


def commands() -> dict[str, Any]:
    """Every command by its full name, such as `data check`, in the order of `acclimate --help`."""
    return dict(_commands(typer.main.get_command(app), ""))


def _commands(group: Any, above: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            if command.invoke_without_command:  # `info` alone is a command, too
                yield name, command
            yield from _commands(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def command_pages() -> str:
    return "\n".join(part for name, command in commands().items() for part in _command(name, command))


def _command(name: str, command: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=f"acclimate {name}")
    yield f"## {name}\n\n{_plain(command.help)}\n\n```text\n{' '.join(command.get_usage(context).split()[1:])}\n```\n"
    for kind in ("argument", "option"):
        records = [part.get_help_record(context) for part in command.params if part.param_type_name == kind]
        rows = [(f"`{names}`", what) for names, what in filter(None, records)]
        if rows:
            yield _table((kind, "what it does" if kind == "option" else "what it is"), rows)


def settings_of(settings: Settings, without: tuple[str, ...] = ()) -> str:
    found = [row for row in _settings(settings, "") if row[0].split(".")[0] not in without]
    rows = [(f"`{name}`", f"`{_yaml(value)}`", what) for name, value, what in found]
    return _table(("setting", "default", "what it decides"), rows)


def _settings(settings: Settings, above: str) -> Iterator[tuple[str, Any, str]]:
    """The dotted names that `--set` takes, with default and explanation."""
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, Settings) and type(value).model_fields:
            yield from _settings(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value, field.description or ""


def _yaml(value: Any) -> str:
    if isinstance(value, Settings) or (isinstance(value, tuple) and any(isinstance(part, Settings) for part in value)):
        return "…"  # a list of groups: the page of the recipe explains it
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_yaml(part) for part in value)}]"
    return ("…" if value else "{}") if isinstance(value, Mapping) else str(getattr(value, "value", value))


def data_settings() -> str:
    """The settings of each data command, each below a heading."""
    return "\n".join(
        f"### data {name}\n\n{settings_of(kind(), ('reading',))}" for name, kind in BY_COMMAND.items() if name != LABEL
    )


def recipe_settings() -> str:
    """The own settings of every recipe, each below a heading."""
    parts = []
    for name, recipe in RECIPES.items():
        own = recipe.options()
        table = settings_of(own) if type(own).model_fields else "It has no settings of its own.\n"
        parts.append(f"## {name}\n\n{_sentence(recipe.summary)}\n\n{table}")
    return "\n".join(parts)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines) + "\n"


def _cell(text: str | None) -> str:
    return " ".join(_plain(text).replace("|", "\\|").split())


def _plain(text: str | None) -> str:
    """Help texts as Markdown: what looks like HTML is shown as it stands."""
    return re.sub(r"<(?=\w)", "&lt;", (text or "").replace("\b", ""))


PARTS: dict[str, Callable[[], str]] = {
    "commands": command_pages,
    "settings-of-reading": lambda: settings_of(ReadingSettings()),
    "settings-of-data": data_settings,
    "settings-of-label": lambda: settings_of(BY_COMMAND[LABEL](), ("reading",)),
    "settings-of-adapt": lambda: settings_of(AdaptSettings()),
    "settings-of-compare": lambda: settings_of(CompareSettings()),
    "settings-of-pretrain": lambda: settings_of(PretrainSettings()),
    "settings-of-domain-tune": lambda: settings_of(DomainTuneSettings()),
    "settings-of-serve": lambda: settings_of(ServeSettings()),
    "settings-of-recipes": recipe_settings,
}


def filled(text: str) -> str:
    """A page with what its comments ask for."""
    return MARK.sub(lambda mark: PARTS[mark[1]](), text)
