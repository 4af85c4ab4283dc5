"""The part of the page about changed words: masks, swaps and words left out, each marked, none as HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from page_reading import Page
from report_folders import EVIL_LABEL, EVIL_WORD

from acclimate.methods.word_edits import WordEdit, noted_row
from acclimate.reporting.report import Look, report_page
from acclimate.reporting.run_data import RunData
from acclimate.reporting.sentences import masks_section
from acclimate.training.record import Record

ANNA = ("Anna", "flew", "to", "New", "York")
MASKS = [{"words": ["so", "tired", "today"], "hidden": [1], "by": "random"}]


def section(folder: Path, recipe: str = "mat", **options: Any) -> str:
    run = RunData(folder, recipe, 1, "news", "tweets", "before", {}, {}, {"options": options})
    shown = str(masks_section(run).render())
    Page(shown)
    return shown


def log(folder: Path, by: str, *edits: WordEdit, update: int = 10, side: str | None = None) -> Path:
    Record(folder).add("changes", "mat", update, by=by, rows=[noted_row(ANNA, edits, side)])
    return folder


def test_a_swapped_word_is_struck_through_and_the_new_one_stands_behind_it(tmp_path: Path) -> None:
    log(tmp_path, "masked noise", WordEdit(1, 2, ("drove",)))
    shown = section(tmp_path)
    assert "Anna <del>flew</del> → <ins>drove</ins> to New York" in shown
    assert "changed sentence, words were swapped once." in shown


def test_a_hidden_word_is_framed_as_masks_are(tmp_path: Path) -> None:
    log(tmp_path, "masked noise", WordEdit(0, 1, None))
    shown = section(tmp_path)
    assert '<mark class="hidden">Anna</mark> flew to New York' in shown
    assert "<del>" not in shown


def test_words_left_out_have_nothing_behind_them(tmp_path: Path) -> None:
    shown = section(log(tmp_path, "twins", WordEdit(1, 3, ())), "pdaln")
    assert "Anna <del>flew to</del> New York" in shown
    assert "<ins>" not in shown


def test_words_put_in_have_nothing_before_them(tmp_path: Path) -> None:
    assert "Anna <ins>never</ins> flew to" in section(log(tmp_path, "twins", WordEdit(1, 1, ("never",))), "pdaln")


def test_an_exchanged_entity_has_its_type_and_whose_sentence_it_is_in(tmp_path: Path) -> None:
    log(tmp_path, "anchors", WordEdit(0, 1, ("Bob", "Stone"), "PER"), WordEdit(3, 5, ("Oslo",), "LOC"), side="target")
    shown = section(tmp_path, "pdaln")
    assert "<del>Anna</del> → <ins>Bob Stone<small> PER</small></ins> flew to <del>New York</del> → <ins>Oslo" in shown
    assert "target sentence, source entity" in shown
    assert "swapped 2 times" in shown


@pytest.mark.parametrize("by", [None, (), (EVIL_WORD,)])
def test_words_and_labels_cannot_become_elements(tmp_path: Path, by: tuple[str, ...] | None) -> None:
    row = noted_row([EVIL_WORD, EVIL_WORD], [WordEdit(0, 1, by, EVIL_LABEL)], EVIL_WORD)
    Record(tmp_path).add("changes", EVIL_WORD, 10, by=EVIL_WORD, rows=[row])
    found = Page(section(tmp_path))
    assert {tag for tag, _ in found.elements}.isdisjoint({"script", "b"})
    assert EVIL_WORD in found.text


def test_what_is_logged_again_and_again_is_shown_once(tmp_path: Path) -> None:
    for update in (0, 10, 20):
        log(tmp_path, "anchors", WordEdit(0, 1, ("Bob",), "PER"), update=update)
    shown = section(tmp_path, "pdaln")
    assert shown.count("<del>") == 1
    assert "update 20" in shown


def test_the_latest_few_are_shown(tmp_path: Path) -> None:
    for update in range(1, 10):
        log(tmp_path, "masked noise", WordEdit(1, 2, (f"w{update}",)), update=update)
    log(tmp_path, "masked noise", WordEdit(1, 2, None), update=10)
    shown = section(tmp_path)
    assert [number for number in range(1, 10) if f"<ins>w{number}</ins>" in shown] == [5, 6, 7, 8, 9]
    assert shown.count('class="hidden"') == 1
    assert "10 changed sentences, words were swapped 9 times, hidden once." in shown


def test_a_sentence_may_be_changed_in_two_ways(tmp_path: Path) -> None:
    shown = section(log(tmp_path, "masked noise", WordEdit(0, 1, None), WordEdit(1, 2, ("drove",))))
    assert '<mark class="hidden">Anna</mark> <del>flew</del> → <ins>drove</ins>' in shown


def test_masks_are_shown_as_before_with_changes_or_without(tmp_path: Path) -> None:
    Record(tmp_path).add("masks", "domain-tuning", 10, policy="random", rows=MASKS)
    alone = section(tmp_path, "acclimate")
    both = section(log(tmp_path, "masked noise", WordEdit(1, 2, ("drove",))), "acclimate")
    for shown in (alone, both):
        assert 'so <mark class="hidden">tired</mark> today' in shown
        assert "Policy random. In the logged sample of 1 rows, 1 of 3 words were hidden (33.3 %)." in shown
    assert "<ins>" not in alone
    assert "<ins>drove</ins>" in both


def test_a_run_that_logged_nothing_says_so(tmp_path: Path) -> None:
    Record(tmp_path).add("changes", "mat", 10, by="masked noise", rows=[])
    assert "hides and changes no words, or logs none" in section(tmp_path)


def test_a_damaged_log_does_not_take_the_page_away(tmp_path: Path) -> None:
    Record(tmp_path).add("changes", "mat", 10, by="masked noise", rows=[{"words": 3}])
    assert "hides and changes no words, or logs none" in section(tmp_path)


def test_the_page_of_a_run_shows_what_its_log_holds(run: Path) -> None:
    (folder,) = (run / "training").glob("datnet")
    log(folder, "masked noise", WordEdit(1, 2, ("drove",)))
    page = report_page(run, Look(quick=True))
    assert "flew drove" in Page(page).sections["masks"].replace("→ ", "")
