"""The page in a real browser: by keyboard, by mouse, by touch; killed servers, two tabs, undo, axe."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from desks import POSTS, served, spans_of
from playwright.sync_api import Browser, Page, expect
from sessions import ids, tags

from acclimate.data.answers import Answer
from acclimate.data.corpus import Corpus
from acclimate.data.readers.labelling import read_session
from acclimate.data.reading import read_corpus
from acclimate.data.schemes import has_open_tags
from acclimate.data.soft_labels import ScoredSpan
from acclimate.labelling.queue import Order
from acclimate.labelling.rounds import FACTS, ORDER
from acclimate.labelling.session import Session
from acclimate.labelling.settings import SessionSettings
from acclimate.model.tagger import Tagger
from acclimate.settings import complete
from chromium import launched, needs_chromium, visiting
from server_process import started

pytestmark = needs_chromium
Visit = Callable[..., Page]
DOUBTED = [ScoredSpan(0, 1, "PER", 0.9)]
SUGGESTED = [ScoredSpan(0, 1, "PER", 0.9), ScoredSpan(2, 3, "LOC", 0.6), ScoredSpan(3, 4, "LOC", 0.2)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens the page as anna, or whoever is named."""
    with visiting(browser) as open_page:

        def as_somebody(url: str, name: str = "anna", **options: Any) -> Page:
            page = open_page(url, **options)
            page.fill("#your-name", name)
            page.keyboard.press("Enter")
            expect(page.locator("#sentence .word").first).to_be_visible()
            saved(page)
            return page

        yield as_somebody


def begin(folder: Path, text: Corpus = POSTS, labels: tuple[str, ...] = ("LOC", "PER"), **settings: Any) -> Session:
    given = complete(SessionSettings, {"held_back": 0.0, **settings})
    return Session.begin(folder, text, given, labels=labels)


def suggest(session: Session, suggested: dict[str, list[ScoredSpan]]) -> None:
    """A round that is over."""
    place = session.folder / "rounds" / "0001"
    place.mkdir(parents=True)
    words = {name: [0.9, 0.02, 0.6, 0.3, *[0.0] * 40] for name in suggested}
    order = Order(1, ids(session), {name: tuple(each) for name, each in suggested.items()}, words)
    (place / ORDER).write_text(json.dumps(asdict(order)))
    (place / FACTS).write_text('{"number": 1, "answered": 0, "learnt": 0, "words": 0, "seconds": 1.0}')


def words_of(page: Page) -> list[str]:
    return page.locator(".word").all_inner_texts()


def answer_of(session: Session, words: list[str], by: str = "anna") -> Answer:
    (found,) = [one for one in session.sentences.values() if list(one.sentence.words) == words]
    answer = session.state.answer(found.id, by)
    assert answer is not None
    return answer


def select(page: Page, start: int, end: int) -> None:
    page.keyboard.press("Home")
    for _ in range(start):
        page.keyboard.press("ArrowRight")
    for _ in range(end - start - 1):
        page.keyboard.press("Shift+ArrowRight")


def saved(page: Page) -> None:
    """Wait until all answers are saved, and there is a sentence again, or none is left."""
    expect(page.locator("#saved")).to_have_text("saved")
    expect(page.locator("#sentence .word, #facts .missing").first).to_be_visible()
    expect(page.locator("#facts")).not_to_contain_text("once your answers are saved")


def test_ten_sentences_are_labelled_by_keyboard_alone(tmp_path: Path, visit: Visit) -> None:
    labels = ("LOC", "PER", "PRODUCT", "PLANT", *(f"T{number}" for number in range(1, 9)))
    session = begin(tmp_path / "s", labels=labels)
    with session, served(session) as url:
        page = visit(url)
        expect(page.locator("#sentence")).to_be_focused()
        for done in range(10):
            words = words_of(page)
            for start, end, label in spans_of(words):
                select(page, start, end)
                page.keyboard.type({"LOC": "l", "PER": "pe"}[label])
            page.keyboard.press("Enter")
            expect(page.locator("#tiles b").first).to_have_text(str(done + 1))
        saved(page)
        assert page.evaluate("document.activeElement.id") == "sentence"
    corpus = read_corpus(tmp_path / "s")
    assert len(corpus) == 10
    for sentence in corpus:
        assert [(span.start, span.end, span.label) for span in sentence.spans] == spans_of(sentence.words)
        assert not has_open_tags(sentence.tags or ())


def test_a_mouse_drags_over_words_and_a_finger_taps_them(tmp_path: Path, visit: Visit) -> None:
    session = begin(tmp_path / "s", Corpus.of_texts([["Anna", "Lee", "saw", "Oslo"], ["New", "York", "is", "far"]]))
    with session, served(session) as url:
        page = visit(url)
        first = words_of(page)
        page.locator("#word-0").hover()
        page.mouse.down()
        page.locator("#word-1").hover()
        page.mouse.up()
        page.click(".chip[data-label=PER]")
        page.click("#word-3")
        page.click(".chip[data-label=LOC]")
        page.click("#word-2")
        page.click(".chip[data-label=LOC]")
        page.click("#remove")
        page.click("#done")
        saved(page)
        touched = visit(url, has_touch=True, viewport={"width": 360, "height": 740})
        touched.tap("#word-0")
        touched.tap("#word-1")
        touched.tap(".chip[data-label=LOC]")
        touched.tap("#done")
        saved(touched)
        assert answer_of(session, first).as_dict()["spans"] == [[0, 2, "PER"], [3, 4, "LOC"]]
        second = next(one for one in (["Anna", "Lee", "saw", "Oslo"], ["New", "York", "is", "far"]) if one != first)
        assert answer_of(session, second).as_dict()["spans"] == [[0, 2, "LOC"]]


def test_suggestions_are_accepted_rejected_and_left_open(tmp_path: Path, visit: Visit) -> None:
    text = Corpus.of_texts([["Anna", "saw", word, "today"] for word in ("Oslo", "Rome", "Lima", "Bern")])
    session = begin(tmp_path / "s", text)
    suggest(session, dict.fromkeys(ids(session), SUGGESTED))
    shown = []
    with session, served(session, learns=False) as url:
        page = visit(url)
        for keys in (
            ["+", "Enter"],
            ["-", "Enter"],
            ["Control+ArrowRight", "Space", "Control+ArrowRight", "Delete", "Enter"],
            ["Control+ArrowRight", "Space", "Shift+Enter"],
        ):
            shown.append(words_of(page))
            expect(page.locator(".mark.open")).to_have_count(3)
            shades = page.locator(".mark").evaluate_all("all => all.map(one => one.style.getPropertyValue('--ground'))")
            assert len(set(shades)) == 3
            for key in keys:
                page.keyboard.press(key)
            saved(page)
        expect(page.locator("#facts")).to_contain_text("labelled in part")  # comes again when nothing else is left
        assert words_of(page) == shown[3]
        answers = [answer_of(session, words).as_dict() for words in shown]
    everything = [[0, 1, "PER"], [2, 3, "LOC"], [3, 4, "LOC"]]
    found = [(one["status"], one["spans"], one["rejected"], one["open"]) for one in answers]
    assert found == [
        ("done", everything, [], []),
        ("done", [], everything, []),
        ("done", everything[:1], everything[1:2], everything[2:]),
        ("part", everything[:1], [], everything[1:]),
    ]
    kept = {sentence.words[2]: sentence.tags for sentence in read_corpus(tmp_path / "s")}
    assert kept[shown[2][2]] == ("B-PER", "O", "O", "O|*")
    assert kept[shown[3][2]] == ("B-PER", "O|*", "O|*", "O|*")


def test_a_word_that_may_be_a_name_is_underlined_and_told(tmp_path: Path, visit: Visit) -> None:
    session = begin(
        tmp_path / "s", Corpus.of_texts([["Anna", "saw", "Oslo", "today"], ["Anna", "left", "Rome", "late"]])
    )
    suggest(session, dict.fromkeys(ids(session), DOUBTED))
    with session, served(session) as url:
        page = visit(url)
        doubted = page.locator(".word.doubt")
        expect(doubted).to_have_count(2)
        assert doubted.first.get_attribute("aria-label") == f"{words_of(page)[2]}, a name by 60 percent"
        select(page, 2, 3)
        page.keyboard.press("l")
        expect(doubted).to_have_count(1)


def test_the_same_words_elsewhere_and_a_note_and_a_search(tmp_path: Path, visit: Visit) -> None:
    session = begin(tmp_path / "s")
    with session, served(session) as url:
        page = visit(url)
        page.keyboard.press("/")
        page.keyboard.type("stone left")
        expect(page.locator(".hits button")).to_have_count(1)
        page.locator(".hits button").click()
        expect(page.locator("#word-3")).to_have_text("Rome")
        select(page, 3, 4)
        page.keyboard.press("l")
        page.keyboard.press("*")
        expect(page.locator(".places li")).to_have_count(3)
        page.locator(".places input").first.uncheck()
        page.get_by_role("button", name="Label 2 places").click()
        expect(page.locator("#hint")).to_contain_text("2 places more")
        assert sum(tag.startswith("B-LOC") for line in tags(session) for tag in line.split()) == 2
        page.keyboard.press("Control+z")
        expect(page.locator("#hint")).to_contain_text("Taken back in 2 sentences")
        assert tags(session) == []
        assert words_of(page)[3] == "Rome"
        page.keyboard.press("!")
        page.keyboard.type("Is Stone a name? <b>")
        page.keyboard.press("Control+Enter")
        saved(page)
        flagged = answer_of(session, ["Bob", "Stone", "left", "Rome"])
        assert (flagged.status, flagged.note) == ("flagged", "Is Stone a name? <b>")


def test_a_killed_server_loses_no_answer_and_neither_does_a_closed_page(tmp_path: Path, visit: Visit) -> None:
    text, folder = tmp_path / "text.txt", tmp_path / "s"
    text.write_text("".join(f"{' '.join(one.words)}\n" for one in POSTS))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    given = ("label", text, "--start", "none", "--labels", "LOC,PER", "--out", folder, "--port", port)
    given += ("--set", "held_back=0")
    shown = []
    with started(*given, says="shows the page for") as server:
        page = visit(server.url)
        shown.append(words_of(page))
        page.keyboard.press("Enter")
        saved(page)
        server.stop(signal.SIGKILL)
        shown.append(words_of(page))
        select(page, 0, 1)
        page.keyboard.press("p")
        page.keyboard.press("Enter")
        expect(page.locator("#saved")).to_contain_text("1 answer not saved yet")
        expect(page.locator("#saved")).to_have_attribute("data-state", "away")
    with started(*given, says="shows the page for") as server:
        expect(page.locator("#saved")).to_have_text("saved", timeout=20_000)
        expect(page.locator("#tiles b").first).to_have_text("2")
        shown.append(words_of(page))
        select(page, 1, 2)
        page.keyboard.press("l")
        page.reload()  # in the middle of a sentence
        expect(page.locator(".mark")).to_have_text("".join([shown[2][1], "LOC"]))
        page.keyboard.press("Enter")
        saved(page)
        assert server.stop(signal.SIGINT) == 0
        assert server.process.stdout is not None
        told = server.process.stdout.read()
        assert f"go on:  acclimate label --out {folder}" in told
        assert f"use it: acclimate adapt --target-labelled {folder}" in told
    content = read_session(folder)
    assert [entry.event["kind"] for entry in content.log.entries if entry.event["kind"] != "round"] == ["answers"] * 3
    found = {one.words: one.spans for one in content.corpus()}
    assert [[(s.start, s.end, s.label) for s in found[tuple(words)]] for words in shown] == [
        [],
        [(0, 1, "PER")],
        [(1, 2, "LOC")],
    ]


def test_two_tabs_do_not_overwrite_each_other(tmp_path: Path, visit: Visit) -> None:
    session = begin(tmp_path / "s")
    with session, served(session) as url:
        one = visit(url)
        other = one.context.new_page()
        other.goto(url)
        expect(other.locator(".word").first).to_be_visible()
        words = words_of(one)
        assert words_of(other) == words
        for page, key in ((one, "p"), (other, "l")):
            select(page, 0, 1)
            page.keyboard.press(key)
        one.keyboard.press("Enter")
        saved(one)
        other.keyboard.press("Enter")
        dialog = other.locator("#dialog")
        expect(dialog).to_contain_text("changed elsewhere")
        expect(dialog).to_contain_text(f"{words[0]}: PER")
        assert [span.label for span in answer_of(session, words).spans] == ["PER"]
        other.get_by_role("button", name="Save mine instead").click()
        expect(dialog).to_be_hidden()
        saved(other)
        assert [span.label for span in answer_of(session, words).spans] == ["LOC"]
        one.keyboard.press("Enter")  # what is on this screen the other tab has on its own: no answer, no conflict
        saved(one)
        expect(other.locator("#hint")).to_contain_text("answered elsewhere", timeout=10_000)
        assert words_of(other) == words_of(one)


def test_undo_and_redo_go_back_across_a_round_of_learning(
    tmp_path: Path, visit: Visit, build: Callable[..., Tagger]
) -> None:
    tagger = build(labels=["PER", "LOC", "ORG"])
    torch.manual_seed(24)
    with torch.no_grad():
        tagger.scores.weight.normal_(0, 2)
    tagger.save(tmp_path / "start")
    quick = {"learning": {"every": 2, "updates": 1}, "acquisition": {"sample": 20}, "held_back": 0.0}
    session = Session.begin(
        tmp_path / "s", POSTS, complete(SessionSettings, quick), start=str(tmp_path / "start"), labels=["LOC", "PER"]
    )
    with session, served(session, learns=True) as url:
        page = visit(url)
        shown = []
        for _ in range(2):
            shown.append(words_of(page))
            page.keyboard.press("-")
            select(page, 0, 1)
            page.keyboard.press("p")
            page.keyboard.press("Enter")
            saved(page)
        third = words_of(page)
        expect(page.locator("#learner")).to_contain_text("has learnt 2 sentences", timeout=90_000)
        assert words_of(page) == third
        assert session.state.rounds[-1]["learnt"] == 2
        page.keyboard.press("Control+z")
        expect(page.locator("#hint")).to_contain_text("taken back")
        assert words_of(page) == shown[1]
        assert len(session.corpus()) == 1
        expect(page.locator(".mark.set")).to_have_count(1)  # as it was before Enter
        for _ in range(4):
            page.keyboard.press("Control+z")
            time.sleep(0.2)
        assert words_of(page) == shown[0]
        assert tags(session) == []
        for _ in range(4):
            page.keyboard.press("Control+y")
            time.sleep(0.2)
        assert len(session.corpus()) == 2
        assert words_of(page) not in shown


def test_text_and_labels_stay_text(tmp_path: Path, visit: Visit) -> None:
    attack = "<img src=x onerror='window.broken=1'><script>window.broken=1</script>"
    session = begin(tmp_path / "s", Corpus.of_texts([[attack, "&amp;", "<b>Oslo</b>"]], attack), (attack, "<i>B"))
    suggest(session, {each: [ScoredSpan(2, 3, attack, 0.5)] for each in ids(session)})
    with session, served(session) as url:
        page = visit(url, name="<u>anna</u>")
        assert words_of(page) == [attack, "&amp;", "<b>Oslo</b>"]
        page.keyboard.press("+")
        page.keyboard.press("Control+ArrowRight")
        for key in ("*", "Escape", "?", "Escape"):
            page.keyboard.press(key)
            time.sleep(0.1)
        page.click("#open-guide")
        page.fill("#guidelines", attack)
        page.get_by_role("button", name="Save the guide").click()
        expect(page.locator("#dialog")).to_be_hidden()
        page.keyboard.press("!")
        page.fill("#flag-note", attack)
        page.get_by_role("button", name="Flag it").click()
        saved(page)
        page.keyboard.press("/")
        page.keyboard.type("img")
        expect(page.locator(".hits button")).to_have_count(1)
        assert page.evaluate("window.broken") is None
        assert page.locator("img, #sentence b, #dialog script").count() == 0
        assert session.guide.guidelines == attack


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_it_is_readable_in_any_light_on_any_width(tmp_path: Path, visit: Visit, scheme: str, width: int) -> None:
    text = Corpus.of_texts([["Anna", "saw", "Oslo", "x" * 200, "&", "Bob", "Stone", *["word"] * 40]])
    session = begin(tmp_path / "s", text, tuple(f"LABEL-{letter * 9}" for letter in "abcdefghijklm"))
    names = session.guide.labels
    suggest(
        session, {each: [ScoredSpan(2, 3, names[1], 0.3), ScoredSpan(5, 7, names[2], 0.95)] for each in ids(session)}
    )
    with session, served(session) as url:
        page = visit(url, color_scheme=scheme, viewport={"width": width, "height": 760})
        select(page, 0, 1)
        page.keyboard.press("1")
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 20, 27)"
        assert dark == (scheme == "dark")
        for opening in (None, "#open-help", "#open-guide", "#flag", "#annotator", "#open-search"):
            if opening:
                page.click(opening)
                expect(page.locator("#dialog")).to_be_visible()
            over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert page.evaluate(over) <= 0
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            if opening:
                page.click("#dialog-close")
