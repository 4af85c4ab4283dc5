"""The pages are true: every command has a line and a page, every example is understood, every link leads somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from acclimate.cli.main import app

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
ROW = re.compile(r"^\| `([a-z-]+)` \| [^|]+ \| `(acclimate [^`]+)` \| (.+) \|$", re.MULTILINE)
ROWS = ROW.findall((DOCS / "commands.md").read_text(encoding="utf-8"))


def examples(page: Path) -> list[list[str]]:
    """The words of every `acclimate …` line in the page's blocks of commands; `…` stands for what is left out."""
    # every block, so that the end of one is not taken for the beginning of the next
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = "".join(text for language, text in blocks if not language).replace("\\\n", " ").splitlines()
    commands = [part.strip() for line in lines for part in re.split(r" \| | && | > | < ", line)]
    return [shlex.split(line, comments=True) for line in commands if line.startswith("acclimate ") and "…" not in line]


def require_understood(words: list[str]) -> None:
    """Read by the command line, without running the command. Wrong ones raise."""
    COMMANDS[words[1]].make_context(words[1], words[2:])


def test_the_list_names_every_command_once_and_no_other() -> None:
    assert sorted(name for name, _, _ in ROWS) == sorted(COMMANDS)


@pytest.mark.parametrize(("name", "example", "links"), ROWS, ids=[name for name, _, _ in ROWS])
def test_a_line_has_an_example_that_is_understood_and_pages_that_have_one_too(
    name: str, example: str, links: str
) -> None:
    words = shlex.split(example)
    assert words[1] == name
    require_understood(words)
    pages = [DOCS / link for link in re.findall(r"\]\(([a-z-]+\.md)\)", links)]
    assert any(words[1] == name for page in pages for words in examples(page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_are_understood(page: Path) -> None:
    for words in examples(page):
        require_understood(words)


def test_a_wrong_example_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```\nacclimate adapt --sauce \\\n  news  # a remark\n```\n", encoding="utf-8")
    (words,) = examples(page)
    assert words == ["acclimate", "adapt", "--sauce", "news"]
    with pytest.raises(Exception, match="No such option"):
        require_understood(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (DOCS / link).exists()] == []
