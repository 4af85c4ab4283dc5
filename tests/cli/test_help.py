"""Help: at once, for every command, and true."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
import typer
from command_line import acclimate

from acclimate import __version__
from acclimate.cli.main import app

APP: Any = typer.main.get_command(app)
GROUPS = {name: command for name, command in APP.commands.items() if hasattr(command, "commands")}
COMMANDS: dict[str, Any] = APP.commands | {
    f"{name} {inner}": command for name, group in GROUPS.items() for inner, command in group.commands.items()
}
HEAVY = {"torch", "transformers", "numpy", "yaml", "accelerate", "safetensors", "acclimate.settings"}


def test_the_help_shows_the_main_commands_and_the_groups() -> None:
    shown = acclimate("--help").out
    main, _, groups = shown.partition("Groups of commands")
    assert all(f"│ {name} " in main for name in ("adapt", "predict", "evaluate", "compare", "report", "info"))
    assert all(f"│ {name} " in groups for name in ("data", "encoder", "papers"))
    for name, group in GROUPS.items():
        assert all(f"│ {inner} " in acclimate(name, "--help").out for inner in group.commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_every_option_is_explained(command: str) -> None:
    answer = acclimate(*command.split(), "--help")
    assert f"acclimate {command}" in answer.out
    for parameter in COMMANDS[command].params:
        assert getattr(parameter, "help", None), f"{command}: {parameter.name} has no help"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["chek"], ["data check"]),
        (["inspct"], ["data inspect"]),
        (["data", "adpat"], ["adapt"]),
        (["list"], ["papers list"]),
        (["info", "recipe"], ["info recipes"]),
    ],
)
def test_an_unknown_command_is_answered_with_those_that_are_close(words: list[str], meant: list[str]) -> None:
    said = acclimate(*words, code=2).err.replace("│", " ")
    for name in meant:
        assert f"`acclimate {name}`" in re.sub(r"\s+", " ", said)


def test_an_unknown_command_like_no_other_leads_to_the_help() -> None:
    assert "See --help" in acclimate("xylophone", code=2).err


def test_no_line_of_the_help_breaks_early() -> None:
    """typer keeps the line ends of all paragraphs but the first: each must be one line in the source."""
    for command in COMMANDS.values():
        for paragraph in command.help.strip().split("\n\n")[1:]:
            assert "\n" not in paragraph.strip()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_no_word_of_the_help_is_cut_off_on_a_narrow_screen(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert re.findall(r"\S+…", acclimate(*command.split(), "--help").out) == []


@pytest.mark.parametrize("words", [("--help",), ("adapt", "--help"), ("--version",)])
def test_help_waits_for_no_heavy_library(words: tuple[str, ...]) -> None:
    code = (
        "import sys, time; from acclimate.cli.main import main\n"
        f"sys.argv = ['acclimate', *{words!r}]\n"
        "try: main()\n"
        "except SystemExit: print(time.process_time(), *sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, *modules = done.stderr.split()
    assert not set(modules) & HEAVY
    assert "pydantic" not in modules or "adapt" in words  # there typer itself uses it
    assert done.stdout
    assert float(seconds) < 1  # of the processor's time: the clock also counts what other tests take


def test_no_command_shows_the_help_as_wrong_usage() -> None:
    answer = acclimate(code=2)
    assert "adapt" in answer.out + answer.err


def test_the_version() -> None:
    assert acclimate("--version").out == f"acclimate {__version__}\n"


def test_exit_codes_are_documented() -> None:
    shown = re.sub(r"\s+", " ", acclimate("--help").out)
    assert "Exit codes: 0 done; 1 could not be done" in shown
    assert "2 wrong usage; 130 after Ctrl-C; 143 after SIGTERM." in shown
