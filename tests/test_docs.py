"""The pages are true: every command has an example, every example is understood, every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acclimate.reproduction.table import find_table
from doc_pages import (
    COMMANDS,
    DOCS,
    GUIDES,
    MARKDOWN,
    ROOT,
    command_of,
    examples,
    name_of,
    running_text,
    sections,
    understood,
)

TODAY = [page for page in MARKDOWN if page.stem != "CHANGELOG" and page.parent.name != "results"]  # not as it once was
PAPERS = [page for page in sorted((DOCS / "explanation" / "papers").glob("*.md")) if page.stem != "README"]


def test_every_command_has_an_example_in_a_guide() -> None:
    shown = {command_of(words) for page in GUIDES for words in examples(page)}
    assert set(COMMANDS) - shown == set()


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_the_examples_of_a_page_are_understood(page: Path) -> None:
    for words in examples(page):
        understood(words)


@pytest.mark.parametrize("page", TODAY, ids=name_of)
def test_the_commands_and_tables_in_the_running_text_exist(page: Path) -> None:
    text = running_text(page)
    groups = {name.split()[0] for name in COMMANDS}
    for name, below in re.findall(r"`acclimate ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?", text):
        assert name in COMMANDS or (name in groups and not below) or f"{name} {below}" in COMMANDS, f"{name} {below}"
    for table in re.findall(r"`acclimate papers reproduce ([\w.-]+)", text):
        assert table in ("ID", "NAME", "--list") or find_table(table)


OPTIONS = {
    name for command in COMMANDS.values() for part in command.params for name in (*part.opts, *part.secondary_opts)
}
PACKAGE = ROOT / "src" / "acclimate"
OF_OTHERS = {"--help", "--nproc-per-node"}


@pytest.mark.parametrize("page", [page for page in TODAY if page.is_relative_to(DOCS)], ids=name_of)
def test_options_in_the_running_text_are_those_of_commands(page: Path) -> None:
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", running_text(page))) - OPTIONS <= OF_OTHERS


@pytest.mark.parametrize("page", [page for page in TODAY if page.is_relative_to(DOCS)], ids=name_of)
def test_files_of_the_package_that_a_page_names_are_there(page: Path) -> None:
    layers = "|".join(sorted(folder.name for folder in PACKAGE.iterdir() if folder.is_dir()))
    files = re.findall(rf"`((?:{layers})/[a-z_/]*(?:/|\.py|\.yaml))`", running_text(page))
    assert [file for file in files if not (PACKAGE / file).exists()] == []


def page_with(command: str, folder: Path) -> Path:
    page = folder / "page.md"
    page.write_text(f"```\n{command}\n```\n", encoding="utf-8")
    return page


def test_a_wrong_example_would_be_noticed(tmp_path: Path) -> None:
    (words,) = examples(page_with("acclimate adapt --sauce \\\n  news  # a remark", tmp_path))
    assert words == ["acclimate", "adapt", "--sauce", "news"]
    with pytest.raises(Exception, match="No such option"):
        understood(words)


def test_an_example_that_leaves_something_out_is_read_all_the_same(tmp_path: Path) -> None:
    (words,) = examples(page_with("acclimate encoder pretrain --text … --start X …", tmp_path))
    assert understood(words) == {}  # --out is among what is left out
    (words,) = examples(page_with("acclimate adapt … --sauce news", tmp_path))
    with pytest.raises(Exception, match="No such option"):
        understood(words)


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_links_to_a_section_name_one_that_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    for place, anchor in links:
        assert anchor in sections(page.parent / place if place else page), f"{place}#{anchor}"


@pytest.mark.parametrize("page", PAPERS, ids=name_of)
def test_the_examples_of_a_paper_name_its_tables(page: Path) -> None:
    tables = [words[3] for words in examples(page) if command_of(words) == "papers reproduce"]
    assert tables
    assert all(find_table(table).name == table and table.startswith(page.stem) for table in tables)
