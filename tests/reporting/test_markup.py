"""HTML that cannot be broken by what stands in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from page_reading import Page

from acclimate.reporting.formatting import Markup, escape
from acclimate.reporting.page import Block, Cell, Fold, Section, Table, Text
from acclimate.reporting.svg import join, tag


def test_text_is_escaped_and_markup_is_not() -> None:
    assert tag("p", "<b>", tag("i", "x")) == "<p>&lt;b&gt;<i>x</i></p>"


def test_an_attribute_cannot_be_left() -> None:
    assert Page(tag("a", href='"><script>')).elements == [("a", {"href": '"><script>'})]


def test_attributes_are_spelled_as_html_has_them() -> None:
    assert tag("g", class_="a", stroke_width=2, id=None) == '<g class="a" stroke-width="2"></g>'


def test_nothing_is_left_out_and_lists_are_opened() -> None:
    assert join(["a", None, ["b", [1]]]) == "ab1"
    assert join([]) == ""


def shown(*blocks: Block) -> Page:
    return Page(Section("part", "title", "about", blocks).render())


@given(st.text())
def test_any_text_comes_back_as_it_was_but_for_what_html_cannot_write(text: str) -> None:
    page = Page(tag("p", text))
    seen = "".join(page.texts)
    assert len(seen) == len(text)
    assert [tag for tag, _ in page.elements] == ["p"]
    assert all(found in (wanted, "�") for found, wanted in zip(seen, text, strict=True))


@given(st.text())
def test_a_template_writes_any_text_as_the_elements_of_drawings_do(text: str) -> None:
    page = Page(Section("part", "title", text, [Text(text, code="x"), Table([text], [[text, Cell(text)]])]).render())
    assert {tag for tag, _ in page.elements} <= {"section", "h2", "p", "code", "div", "table", "thead", "tr", "th"} | {
        *("tbody", "td"),
    }
    assert "".join(Page(tag("p", text)).texts).strip() in "".join(page.texts)


def test_half_a_surrogate_pair_can_be_written_to_a_file() -> None:
    assert escape("a\ud800\x00b").encode("utf-8").decode() == "a��b"


def test_escaping_twice_changes_nothing() -> None:
    assert escape(escape("<&>")) == escape("<&>")
    assert isinstance(escape("x"), Markup)


def test_a_table_has_a_head_for_every_column_and_row() -> None:
    page = shown(Table(["name", "a", "b"], [["x", 1, 2], ["y", 3, 4]]))
    assert [tag for tag, _ in page.elements].count("th") == 3 + 2
    assert [attributes.get("scope") for tag, attributes in page.elements if tag == "th"] == ["col"] * 3 + ["row"] * 2


def test_blocks_can_be_folded() -> None:
    page = shown(Fold("more", [Text("x"), Fold("deeper", [Text("y")], is_open=True)]))
    assert [tag for tag, _ in page.elements][3:] == ["details", "summary", "p", "details", "summary", "p"]
    assert ("details", {"open": None}) in page.elements
    assert page.text.split()[-4:] == ["more", "x", "deeper", "y"]
