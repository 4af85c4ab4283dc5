"""Messages name arguments as their reader writes them: in Python, or on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import Files, acclimate

from acclimate.cli.main import app, as_option
from acclimate.spelling import argument, either, spelled_by

COMMANDS: Any = typer.main.get_command(app)


def of_command(name: str) -> Callable[[str, Any], str]:
    return lambda argument, value: as_option(COMMANDS.commands[name], argument, value)


@pytest.mark.parametrize(
    ("name", "value", "python", "adapt", "compare"),
    [
        ("train_on_dev", True, "train_on_dev=True", "--set train_on_dev=true", "--set train_on_dev=true"),
        ("source_dev", None, "source_dev", "--source-dev", "--source-dev"),
        ("select", "last", 'select="last"', "--set select=last", "--set select=last"),
        ("select", ..., "select=", "--set select=SELECT", "--set select=SELECT"),
        ("out", None, "out", "--out", "--out"),
        ("skip_bad", True, "skip_bad=True", "--set reading.skip_bad=true", "--set reading.skip_bad=true"),
    ],
)
def test_an_argument_is_spelled_for_who_reads_it(
    name: str, value: object, python: str, adapt: str, compare: str
) -> None:
    assert argument(name, value) == python
    for command, expected in (("adapt", adapt), ("compare", compare)):
        with spelled_by(of_command(command)):
            assert argument(name, value) == expected
    assert argument(name, value) == python


def test_other_words_are_chosen_for_who_reads_them() -> None:
    assert either("overwrite=True", "--overwrite") == "overwrite=True"
    with spelled_by(of_command("adapt")):
        assert either("overwrite=True", "--overwrite") == "--overwrite"


def test_the_commands_say_it_so(files: Files, here: Path) -> None:
    words = ["adapt", "--source", files.news, "--encoder", "character-cnn-lstm"]
    dev = ["--source-dev", files.dev, "--set", "train_on_dev=true", "--set", "select=source-dev"]
    said = acclimate(*words, *dev, code=2).err
    assert (
        "With --set train_on_dev=true the source dev sentences cannot choose the model: pass --set select=last" in said
    )
    assert "--target-dev" in acclimate(*words, "--set", "select=target-dev", code=1).err


@pytest.mark.parametrize("size", ["--few-shot", "--sentences"])
def test_a_size_of_nothing_is_told_by_its_option(size: str) -> None:
    assert f"'{size}'" in acclimate("data", "subset", "news", "-", size, "0", code=2).err
