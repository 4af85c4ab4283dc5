"""The page on paper, where nothing scrolls, unfolds or can be clicked."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest


def rules(style: str) -> dict[str, dict[str, str]]:
    """What each selector says, the last word counting."""
    found: dict[str, dict[str, str]] = {}
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)):
        said = dict(pair.split(":", 1) for pair in body.split(";") if ":" in pair)
        for selector in selectors.split(","):
            own = found.setdefault(" ".join(selector.split()), {})
            own |= {name.strip(): value.strip() for name, value in said.items()}
    return found


@pytest.fixture(scope="module")
def screen_and_paper() -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    home = files("acclimate.reporting")
    style = "".join(home.joinpath(name).read_text(encoding="utf-8") for name in ("charts.css", "page.css"))
    screen, found, paper = style.partition("@media print {")
    assert found
    return rules(screen), rules(paper.rstrip().removesuffix("}"))


def test_heads_stay_with_what_they_are_of(screen_and_paper) -> None:
    _, paper = screen_and_paper
    for selector in ("h2", "h3", ".about", "summary", "figcaption", "thead"):
        assert paper[selector]["break-after"] == "avoid", selector
    for selector in ("figure", "tr", "article", ".verdict"):
        assert paper[selector]["break-inside"] == "avoid", selector


def test_wide_tables_may_break_their_lines(screen_and_paper) -> None:
    screen, paper = screen_and_paper
    assert paper[".scroll"]["overflow"] == "visible"
    stiff = {selector for selector, said in screen.items() if said.get("white-space") == "nowrap"}
    figures_alone = {"th.figure", "td.figure", ".badge"}  # short; a badge in a tight table may break
    unseen = {"del::before", "ins::before"}  # for screen readers
    assert {
        selector
        for selector in stiff - figures_alone - unseen
        if paper.get(selector, {}).get("white-space") != "normal"
    } == set()


def test_what_is_folded_says_that_it_is_not_printed(screen_and_paper) -> None:
    assert "not printed" in screen_and_paper[1]["details:not([open]) > summary::after"]["content"]


def test_no_box_is_torn_between_pages(screen_and_paper) -> None:
    assert screen_and_paper[1]["section"]["border"] == "0"


def test_paper_is_white_whatever_the_screen_likes(screen_and_paper) -> None:
    screen, paper = screen_and_paper
    colours = {name for name in screen[":root"] if name.startswith("--")}
    assert colours <= paper[":root"].keys()
    assert paper[":root"]["--paper"] == paper[":root"]["--card"] == "#fff"
    assert paper[":root"]["color-scheme"] == "light"
