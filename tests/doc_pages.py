"""The pages of the documentation, and the commands that they show."""

from __future__ import annotations

import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

from made_from_code import commands  # noqa: E402

from acclimate.cli.main import app  # noqa: E402

GUIDES = sorted([*(DOCS / "tutorials").glob("*.md"), *(DOCS / "how-to").glob("*.md")])
FOLDERS = ("docs", "src", "benchmarks", "examples", "tests")
MARKDOWN = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
MARKDOWN = [page for page in MARKDOWN if "_build" not in page.parts]
COMMANDS = commands()
APP: Any = typer.main.get_command(app)

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_OF_COMMANDS = ("", "sh", "bash")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def examples(page: Path, anchor: str = "") -> list[list[str]]:
    """The words of every `acclimate …` line in the blocks of commands of the page, or of one section. `…` stands for
    what is left out."""
    text = page.read_text(encoding="utf-8") if not anchor else sections(page)[anchor]
    # every block, so that the end of one is not taken for the beginning of the next
    blocks = [text for language, text in _BLOCK.findall(text) if language in _OF_COMMANDS]
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    commands = [part.strip() for line in lines for part in re.split(r" \| | && | > | < ", line)]
    return [shlex.split(line, comments=True) for line in commands if line.startswith("acclimate ")]


def running_text(page: Path) -> str:
    """What stands outside of blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def sections(page: Path) -> dict[str, str]:
    """The text below each heading, up to the next one, by the name that links have for it."""
    outside = _BLOCK.sub(lambda block: block[0].replace("\n#", "\n "), page.read_text(encoding="utf-8"))
    parts = re.split(r"^#+ (.+)$", outside, flags=re.MULTILINE)
    return {anchor_of(title): text for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def anchor_of(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def command_of(words: list[str]) -> str:
    """The command that the words after `acclimate` name, such as `data check`."""
    return " ".join(words[1:3]) if " ".join(words[1:3]) in COMMANDS else words[1]


def understood(words: list[str]) -> dict[str, Any]:
    """The options of a command, read by the command line without running it. Wrong ones raise. Where an example leaves
    something out, options that it must have may be among that."""
    name = command_of(words)
    rest = words[1 + len(name.split()) :]
    given = [word for before, word in pairwise([name, *rest]) if word != "…" or before.startswith("-")]
    try:
        options: dict[str, Any] = COMMANDS[name].make_context(name, given).params
    except typer.BadParameter as wrong:
        if type(wrong).__name__ != "MissingParameter" or given == rest:
            raise
        return {}
    return options
