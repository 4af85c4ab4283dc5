"""Debian's chromium, driven by Playwright: pages that fail a test when the browser complains of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium")
_ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")


@contextmanager
def launched() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        yield chromium
        chromium.close()


@contextmanager
def visiting(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages, each in a context of its own: `visit(url, color_scheme="dark")`. Complaints fail at the end."""
    contexts, complaints = [], []

    def visit(url: str, **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda failure: complaints.append(str(failure)))
        page.goto(url)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert [said for said in complaints if "Failed to load resource" not in said] == []
