"""The pages are true: every command has a line and a page, every example is understood, every link leads somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from acclimate.cli.main import app
from acclimate.reproduction.catalogue import find_table

CODE = re.MULTILINE | re.DOTALL
DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
ROW = re.compile(r"^\| `([a-z-]+)` \| [^|]+ \| `(acclimate [^`]+)` \| (.+) \|$", re.MULTILINE)
ROWS = ROW.findall((DOCS / "commands.md").read_text(encoding="utf-8"))


def examples(page: Path, anchor: str = "") -> list[list[str]]:
    """The words of every `acclimate …` line in the blocks of commands of the page, or of one section; `…` stands for
    what is left out."""
    text = page.read_text(encoding="utf-8") if not anchor else sections(page)[anchor]
    # every block, so that the end of one is not taken for the beginning of the next
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = "".join(text for language, text in blocks if not language).replace("\\\n", " ").splitlines()
    commands = [part.strip() for line in lines for part in re.split(r" \| | && | > | < ", line)]
    return [shlex.split(line, comments=True) for line in commands if line.startswith("acclimate ") and "…" not in line]


def sections(page: Path) -> dict[str, str]:
    """The text below each heading, up to the next one, by the name that links have for it."""
    outside = re.sub(
        r"^```.*?^```", lambda block: block[0].replace("\n#", "\n "), page.read_text(encoding="utf-8"), flags=CODE
    )
    parts = re.split(r"^#+ (.+)$", outside, flags=re.MULTILINE)
    return {anchor_of(title): text for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def anchor_of(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


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
    places = [(DOCS / page, anchor) for page, anchor in re.findall(r"\]\(([a-z-]+\.md)#?([a-z-]*)\)", links)]
    assert any(words[1] == name for page, anchor in places for words in examples(page, anchor))


def test_commands_that_share_a_page_have_sections_of_their_own() -> None:
    targets = [(name, target) for name, _, links in ROWS for target in re.findall(r"\]\(([^)]+)\)", links)]
    pages = [target.partition("#")[0] for _, target in targets]
    shared = {page for page in pages if pages.count(page) > 1}
    assert shared == {"analyses.md", "data.md", "settings.md", "tagging.md"}
    own = [target for _, target in targets if target.partition("#")[0] in shared]
    assert all("#" in target for target in own)
    assert len(set(own)) == len(own)


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


@pytest.mark.parametrize("page", [*PAGES, *sorted((DOCS / "papers").glob("*.md"))], ids=lambda page: page.stem)
def test_links_to_a_section_name_one_that_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    for place, anchor in links:
        assert anchor in sections(page.parent / place if place else page), f"{place}#{anchor}"


@pytest.mark.parametrize("name", ["mslm", "pdaln"])
def test_the_examples_of_a_paper_are_understood_and_name_its_tables(name: str) -> None:
    words = examples(DOCS / "papers" / f"{name}.md")
    for example in words:
        require_understood(example)
    tables = [example[2] for example in words if example[1] == "reproduce"]
    assert tables
    assert all(find_table(table).alias == table and table.startswith(name) for table in tables)
