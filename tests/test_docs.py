"""The pages are true: every command has a line and a page, every example is understood, every link leads somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from acclimate.reproduction.table import find_table
from doc_pages import APP, COMMANDS, DOCS, MARKDOWN, command_of, examples, name_of, running_text, sections, understood

ROW = re.compile(r"^\| `([a-z -]+)` \| [^|]+ \| `(acclimate [^`]+)` \| (.+) \|$", re.MULTILINE)
ROWS = ROW.findall((DOCS / "commands.md").read_text(encoding="utf-8"))
PAPERS = [page for page in sorted((DOCS / "papers").glob("*.md")) if page.stem != "README"]


def test_the_list_names_every_command_once_and_no_other() -> None:
    assert sorted(name for name, _, _ in ROWS) == sorted(COMMANDS)


@pytest.mark.parametrize(("name", "example", "links"), ROWS, ids=[name for name, _, _ in ROWS])
def test_a_line_has_an_example_that_is_understood_and_pages_that_have_one_too(
    name: str, example: str, links: str
) -> None:
    words = shlex.split(example)
    assert command_of(words) == name
    understood(words)
    places = [(DOCS / page, anchor) for page, anchor in re.findall(r"\]\(([a-z-]+\.md)#?([a-z-]*)\)", links)]
    assert any(command_of(words) == name for page, anchor in places for words in examples(page, anchor))


def test_commands_that_share_a_page_have_sections_of_their_own() -> None:
    targets = [(name, target) for name, _, links in ROWS for target in re.findall(r"\]\(([^)]+)\)", links)]
    pages = [target.partition("#")[0] for _, target in targets]
    shared = {page for page in pages if pages.count(page) > 1}
    assert shared == {"analyses.md", "data.md", "reproduce.md", "settings.md", "tagging.md"}
    own = [target for _, target in targets if target.partition("#")[0] in shared]
    assert all("#" in target for target in own)
    assert len(set(own)) == len(own)


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_the_examples_of_a_page_are_understood(page: Path) -> None:
    for words in examples(page):
        understood(words)


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_the_commands_and_tables_in_the_running_text_exist(page: Path) -> None:
    text = running_text(page)
    assert set(re.findall(r"`acclimate ((?:data|encoder|papers|info) [a-z][a-z-]+)", text)) <= set(COMMANDS)
    assert set(re.findall(r"`acclimate ([a-z][a-z-]+)", text)) <= set(APP.commands)
    for table in re.findall(r"`acclimate papers reproduce ([\w.-]+)", text):
        assert table == "ID" or find_table(table)


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
    (words,) = examples(page_with("acclimate encoder pretrain --text … --updates 3 …", tmp_path))
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
    tables = [example[3] for example in examples(page) if command_of(example) == "papers reproduce"]
    assert tables
    assert all(find_table(table).name == table and table.startswith(page.stem) for table in tables)
