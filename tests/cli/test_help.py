"""Help: at once, for every command, and true."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import typer
from command_line import acclimate

from acclimate import __version__
from acclimate.cli.main import app
from acclimate.cli.options import FORMAT_NAMES
from acclimate.data.reading import FORMATS

COMMANDS = tuple(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
HEAVY = {"torch", "transformers", "numpy", "yaml", "accelerate", "safetensors", "acclimate.settings"}


def test_the_commands_promised_are_there() -> None:
    promised = {"adapt", "evaluate", "predict", "check", "convert", "recipes", "corpora", "settings"}
    assert set(COMMANDS) >= promised
    assert all(f"│ {command} " in acclimate("--help").out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_every_option_is_explained(command: str) -> None:
    answer = acclimate(command, "--help")
    assert f"acclimate {command}" in answer.out
    for parameter in typer.main.get_command(app).commands[command].params:  # type: ignore[attr-defined]
        assert getattr(parameter, "help", None), f"{command}: {parameter.name} has no help"


def test_no_line_of_the_help_breaks_early() -> None:
    """typer keeps the line ends of all paragraphs but the first: each must be one line in the source."""
    for command in typer.main.get_command(app).commands.values():  # type: ignore[attr-defined]
        for paragraph in command.help.strip().split("\n\n")[1:]:
            assert "\n" not in paragraph.strip()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_no_word_of_the_help_is_cut_off_on_a_narrow_screen(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert re.findall(r"\S+…", acclimate(*filter(None, [command]), "--help").out) == []


def test_the_formats_named_in_the_help_are_those_that_there_are() -> None:
    assert FORMAT_NAMES.split(", ") == list(FORMATS)


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
