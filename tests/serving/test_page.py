"""The page in a real browser: what is typed is tagged, by mouse and by keyboard, light and dark, wide and narrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from served import started

from chromium import launched, needs_chromium, visiting

ATTACK = '<img src=x onerror="window.broken=1"><b>Anna</b> & <script>window.broken=1</script> flew to Oslo 👩‍👩‍👧 .'
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def address(compact_folder: Path) -> Iterator[str]:
    with started(compact_folder, f"alone={compact_folder / 'before'}") as server:
        yield server.url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Opens the page; whatever the browser complains of fails the test at its end."""
    with visiting(browser) as visit:

        def open_page(url: str = address, **options: Any) -> Page:
            page = visit(url, **options)
            expect(page.locator("#about-model")).not_to_be_empty()
            return page

        yield open_page


def find(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.click("button.main")
    expect(page.locator("#result")).to_be_visible()


def asked(page: Page, text: str, model: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.request.post(
        f"{page.url}v1/entities", data={"text": text, "model": model}
    ).json()["entities"]
    return found


def without_marks(page: Page, view: int) -> str:
    """The text of a view without what the page adds to it."""
    script = """(view) => { const copy = view.cloneNode(true);
        copy.querySelectorAll("mark").forEach((mark) => { mark.lastChild.remove(); mark.lastChild.remove(); });
        return copy.textContent; }"""
    found: str = page.locator(".view > p").nth(view).evaluate(script)
    return found


def test_before_and_after_stand_side_by_side_and_text_stays_text(visit: Callable[..., Page]) -> None:
    page = visit()
    find(page, ATTACK)
    expect(page.locator(".view h3")).to_have_text(["Before adaptation: a/before", "After adaptation: a"])
    for view, model in enumerate(("a/before", "a")):
        expected = asked(page, ATTACK, model)
        assert expected
        marks = page.locator(".view").nth(view).locator("mark")
        expect(marks).to_have_count(len(expected))
        for number, entity in enumerate(expected):
            shown = marks.nth(number).inner_text()
            assert shown.startswith(f"{entity['text']}\u00a0{entity['label']} {entity['score']:.2f}")
        assert without_marks(page, view) == ATTACK
    assert page.evaluate("window.broken") is None
    assert page.locator("#views img, #views b, #views script").count() == 0


def test_a_tagger_alone_has_one_view(visit: Callable[..., Page]) -> None:
    page = visit()
    page.select_option("#model", "alone")
    find(page, "Anna flew to Oslo.")
    assert page.locator(".view").count() == 1
    legend = page.locator("#legend li").all_inner_texts()
    expected = asked(page, "Anna flew to Oslo.", "alone")
    assert sorted(legend) == sorted(
        f"{label} {[e['label'] for e in expected].count(label)}" for label in {e["label"] for e in expected}
    )


def test_everything_can_be_done_by_keyboard(visit: Callable[..., Page]) -> None:
    page = visit()
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
    assert reached[:4] == ["text", "model", "Find entities", "example"]
    page.focus("#text")
    page.keyboard.type("Anna flew to Oslo.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#status")).to_have_text("Before adaptation 2 entities, after it 1 entity.")
    assert page.locator("#status").get_attribute("aria-live") == "polite"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#status")).to_contain_text("Found ")


def test_the_example_is_found_and_copied_as_json(visit: Callable[..., Page]) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    page.click("#example")
    expect(page.locator("#result")).to_be_visible()
    page.click("#copy")
    expect(page.locator("#status")).to_have_text("Copied as JSON.")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    text = page.input_value("#text")
    assert copied == {model: asked(page, text, model) for model in ("a/before", "a")}


def test_errors_are_told_kindly_and_nothing_old_stays(visit: Callable[..., Page]) -> None:
    page = visit()
    page.click("button.main")
    expect(page.locator("#status")).to_contain_text("There is no text yet")
    find(page, "Anna flew to Oslo.")
    page.fill("#text", "word " * 20_001)
    page.click("button.main")
    expect(page.locator("#problem")).to_contain_text("20,001 words at once; at most 20,000")
    assert page.locator("#problem").get_attribute("role") == "alert"
    expect(page.locator("#result")).to_be_hidden()
    page.route("**/v1/entities", lambda route: route.abort())
    page.fill("#text", "Anna")
    page.click("button.main")
    expect(page.locator("#problem")).to_contain_text("The server does not answer")


def test_a_token_is_asked_for_and_used(browser: Browser, compact_folder: Path) -> None:
    with started(compact_folder, ACCLIMATE_TOKEN="sesame") as server:
        page = browser.new_page()
        page.goto(server.url)
        expect(page.locator("#problem")).to_contain_text("asks for a token")
        expect(page.locator("#token")).to_be_focused()
        page.fill("#token", "sesame")
        page.fill("#text", "Anna flew to Oslo.")
        page.click("button.main")
        expect(page.locator(".view")).to_have_count(2)
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_it_is_readable_in_any_light_on_any_width(visit: Callable[..., Page], scheme: str, width: int) -> None:
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 800})
    find(page, f"Anna flew to Oslo. Bob Stone left Blue Bank and United Nations in New York. {'x' * 300}")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert (page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 20, 27)") == (scheme == "dark")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
