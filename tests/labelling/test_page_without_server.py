"""One HTML file with sentences in it: labelled without a server, and what comes back from it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from desks import POSTS, spans_of
from playwright.sync_api import Browser, expect
from sessions import answer, begin, ids, span, tags

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus
from acclimate.labelling.export import Taken, exported, imported
from acclimate.labelling.session import Session
from chromium import launched, needs_chromium, visiting


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


def returned(session: Session, number: int, annotator: str = "zoe") -> str:
    """A line of a downloaded file: the first word is a person."""
    identifier = ids(session)[number]
    words = session.sentences[identifier].sentence.words
    given = {"sentence": identifier, "status": "done", "spans": [[0, 1, "PER"]], "seen": 0}
    tags = ["B-PER", *["O"] * (len(words) - 1)]
    return json.dumps({"words": words, "tags": tags, "annotator": annotator, "id": identifier, "answer": given}) + "\n"


@needs_chromium
def test_a_page_is_labelled_without_a_server_and_its_file_is_read(tmp_path: Path, browser: Browser) -> None:
    session = begin(tmp_path / "s", POSTS)
    with session, visiting(browser) as visit:
        assert exported(session, tmp_path / "page.html", 5) == 5
        page = visit(f"file://{tmp_path / 'page.html'}", offline=True)
        page.fill("#your-name", "zoe")
        page.keyboard.press("Enter")
        shown = []
        for turn in range(5):
            shown.append(words := page.locator(".word").all_inner_texts())
            for start, end, label in spans_of(words):
                page.keyboard.press("Home")
                for _ in range(start):
                    page.keyboard.press("ArrowRight")
                for _ in range(end - start - 1):
                    page.keyboard.press("Shift+ArrowRight")
                page.keyboard.type(label[0].lower())
            if turn == 2:
                page.reload()  # what stands on the screen is kept, too
                expect(page.locator(".mark")).to_have_count(len(spans_of(words)))
            page.keyboard.press("Shift+Enter" if turn == 4 else "Enter")
        page.keyboard.press("Control+z")
        assert page.locator(".word").all_inner_texts() == shown[4]
        page.keyboard.press("Shift+Enter")
        with page.expect_download() as download:
            page.click("#download")
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        assert file.name == "labelled-by-zoe.jsonl"
        corpus = {sentence.words: sentence for sentence in read_corpus(file)}
        for number, words in enumerate(shown):
            sentence = corpus[tuple(words)]
            assert [(one.start, one.end, one.label) for one in sentence.spans] == spans_of(words)
            assert ("O|*" in (sentence.tags or ())) == (number == 4)
        assert imported(session, file) == Taken(5, 0, 0, ("zoe",))
        assert {sentence.words: sentence.tags for sentence in session.corpus()} == {
            words: sentence.tags for words, sentence in corpus.items()
        }
        assert session.progress("zoe").seconds > 0
        assert imported(session, file) == Taken(0, 5, 0, ())


def test_the_page_holds_everything_and_no_text_becomes_a_part_of_it(tmp_path: Path) -> None:
    attack = "</script><script>alert(1)</script><!--"
    session = begin(tmp_path / "s", Corpus.of_texts([[attack, "Oslo"]], attack), labels=(attack,))
    with session:
        exported(session, tmp_path / "page.html", 10)
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert(1)" not in page
    assert not re.search(r'(src|href)="', page)
    held = re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    assert held
    assert json.loads(held[1])["items"][0]["words"] == [attack, "Oslo"]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert "unsafe" not in policy[1]
    assert "default-src 'none'" in policy[1].replace("&#39;", "'")


def test_held_back_sentences_are_in_the_page_in_their_share_without_suggestions(tmp_path: Path) -> None:
    text = Corpus.of_texts([[letter * 5, "is", letter * 4] for letter in "abcdefghijklmnopqrstuvwxyz"])
    session = begin(tmp_path / "s", text, held_back=0.4)
    with session:
        exported(session, tmp_path / "page.html", 15)
        held = re.search(r'id="content">(.*?)</script>', (tmp_path / "page.html").read_text(), re.DOTALL)
        assert held
        items = json.loads(held[1])["items"]
        assert [item["heldBack"] for item in items].count(True) == 6
        for item in items:
            assert item["heldBack"] == session.sentences[item["id"]].held_back


def test_what_was_answered_in_the_session_itself_stays(tmp_path: Path) -> None:
    session = begin(tmp_path / "s", POSTS)
    with session:
        session.answer(answer(session, 0, span(2, 3), by="zoe"))
        session.answer(answer(session, 1, span(0, 1, "PER"), by="zoe"))
        file = tmp_path / "back.jsonl"
        file.write_text("".join(returned(session, number) for number in (0, 1, 2)) + returned(session, 0, "bo"))
        assert imported(session, file) == Taken(2, 1, 1, ("bo", "zoe"))
        assert session.state.answer(ids(session)[0], "zoe") == answer(session, 0, span(2, 3), by="zoe", seen=0)
        session.undo("zoe")
        assert session.state.answer(ids(session)[2], "zoe") is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda line: "nonsense\n", "no answer of a page"),
        (lambda line: line.replace('"answer"', '"reply"'), "no answer of a page"),
        (lambda line: line.replace('"Anna"', '"Hanna"'), "does not have this sentence"),
        (lambda line: line.replace('"PER"', '"NEW"'), "the label 'NEW' is none of"),
        (lambda line: line.replace("[[0, 1", "[[0, 99"), "99"),
        (lambda line: line.replace('"done"', '"great"'), "the status 'great'"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_and_nothing_of_it_is_taken(
    tmp_path: Path, change: Callable[[str], str], said: str
) -> None:
    session = begin(tmp_path / "s", POSTS)
    with session:
        file = tmp_path / "back.jsonl"
        file.write_text(returned(session, 1) + change(returned(session, 0)))
        with pytest.raises(InputError, match=re.escape(said)):
            imported(session, file)
        assert tags(session) == []
