"""The pages build to a site without a warning, its links lead somewhere, and its prose reads well."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from doc_pages import DOCS, MARKDOWN, ROOT, anchor_of, name_of

OWN = [page for page in MARKDOWN if page.is_relative_to(DOCS) and "results" not in page.parts]
OWN += [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "examples").glob("*.md")]
FOR_BEGINNERS = [ROOT / "README.md", *(DOCS / "tutorials").glob("*.md")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(out)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def test_every_internal_link_of_the_site_leads_to_a_place_that_is_there(site: Path) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    ids = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    dead = []
    for page, text in pages.items():
        for link in re.findall(r'<a [^>]*href="([^"]+)"', text):
            place, _, anchor = unquote(unescape(link)).partition("#")
            if "://" in place or place.startswith("mailto:"):
                continue
            target = (page.parent / place).resolve() if place else page
            if not target.exists() or (anchor and target in ids and anchor not in ids[target]):
                dead.append(f"{page.relative_to(site)}: {link}")
    assert dead == []
    assert len(pages) > 40


def test_the_reference_has_every_command_and_every_name_of_the_package(site: Path) -> None:
    import acclimate
    from doc_pages import COMMANDS

    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f'id="{anchor_of(name)}"' not in commands] == []
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert [name for name in acclimate.__all__ if f"acclimate.{name}" not in python] == []


def test_the_spelling_is_right() -> None:
    command = [sys.executable, "-m", "codespell_lib", "--ignore-words", str(DOCS / "own-words.txt"), *map(str, OWN)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


def sentences(text: str) -> list[str]:
    """The sentences outside of code. Cells of tables, items of lists and headings are texts of their own."""
    text = re.sub(r"^```.*?^```", "\n", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->|<[^>]+>", " ", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", "CODE", text)
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=#)|(?<=\|)\s*\n|(?<!\\)\|", text)
    return [part for block in blocks for part in re.split(r"(?<=[.!?])[\"')*]*\s+", block) if part.strip()]


def length(sentence: str) -> int:
    return len(re.findall(r"\w[\w'’.-]*", sentence))


@pytest.mark.parametrize("page", OWN, ids=name_of)
def test_no_sentence_is_long(page: Path) -> None:
    most = 35 if page in FOR_BEGINNERS else 40
    found = sentences(page.read_text(encoding="utf-8"))
    assert [" ".join(sentence.split()) for sentence in found if length(sentence) > most] == []


def test_a_long_sentence_would_be_noticed() -> None:
    text = (
        "# A title\n\nShort. "
        + "word " * 40
        + "end.\n\n| a cell | "
        + "word " * 50
        + "|\n\n```\n"
        + "code " * 60
        + "\n```\n"
    )
    assert sorted(length(sentence) for sentence in sentences(text)) == [1, 2, 2, 41, 50]
