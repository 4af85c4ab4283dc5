"""Tags and spans: four spellings of the same thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.problems import InputError
from acclimate.data.schemes import (
    SCHEMES,
    Span,
    convert_tags,
    detect_scheme,
    faults,
    is_legal,
    looks_like_span_tag,
    spans_from_tags,
    tags_from_spans,
)

ANY_TAG = st.sampled_from(["O", "B-A", "I-A", "E-A", "S-A", "I-B", "B-B", "L-B", "U-B", "M-A", "B", "I"])


@st.composite
def spans_and_length(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Spans that do not overlap, with neighbours of one label among them."""
    spans: list[Span] = []
    position = 0
    for _ in range(draw(st.integers(0, 6))):
        start = position + draw(st.integers(0, 2))
        position = start + draw(st.integers(1, 3))
        spans.append(Span(start, position, draw(st.sampled_from(["PER", "LOC", "geo-loc"]))))
    return spans, position + draw(st.integers(0, 2))


def without_touching_twins(spans: list[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in spans:
        if not (kept and kept[-1].end == span.start and kept[-1].label == span.label):
            kept.append(span)
    return kept


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "BIOES"])
@given(case=spans_and_length())
def test_spans_survive_their_spelling(scheme, case):
    spans, length = case
    assert spans_from_tags(tags_from_spans(spans, length, scheme)) == spans


@given(case=spans_and_length())
def test_spans_survive_io_unless_twins_touch(case):
    spans, length = without_touching_twins(case[0]), case[1]
    assert spans_from_tags(tags_from_spans(spans, length, "IO")) == spans


@pytest.mark.parametrize("scheme", SCHEMES)
@given(case=spans_and_length())
def test_what_we_spell_has_no_faults(scheme, case):
    assert faults(tags_from_spans(*case, scheme), scheme) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@given(case=spans_and_length())
def test_tags_survive_a_change_of_scheme_and_back(scheme, case):
    spans, length = without_touching_twins(case[0]), case[1]
    tags = tags_from_spans(spans, length, scheme)
    assert convert_tags(convert_tags(tags, "BIOES"), scheme) == tags


@given(tags=st.lists(ANY_TAG))
def test_any_tags_read_leniently_and_never_overlap(tags):
    spans = spans_from_tags(tags)
    covered = [place for span in spans for place in range(span.start, span.end)]
    assert covered == [place for place, tag in enumerate(tags) if tag != "O"]


@pytest.mark.parametrize("scheme", SCHEMES)
@given(tags=st.lists(ANY_TAG))
def test_conversion_is_reading_and_spelling_anew(scheme, tags):
    assert convert_tags(tags, scheme) == tags_from_spans(spans_from_tags(tags), len(tags), scheme)


def test_adjacent_entities_of_different_type_stay_apart():
    assert spans_from_tags(["I-PER", "I-LOC"]) == [Span(0, 1, "PER"), Span(1, 2, "LOC")]


def test_adjacent_entities_of_one_type_stay_apart():
    assert spans_from_tags(["B-PER", "B-PER", "I-PER"]) == [Span(0, 1, "PER"), Span(1, 3, "PER")]


def test_iob1_marks_only_the_second_neighbour():
    assert tags_from_spans([Span(0, 1, "A"), Span(1, 2, "A")], 3, "IOB1") == ["I-A", "B-A", "O"]


def test_bilou_is_bioes_with_other_letters():
    assert spans_from_tags(["B-A", "L-A", "U-A"]) == spans_from_tags(["B-A", "E-A", "S-A"])


def test_bare_letters_are_spans_without_a_type():
    assert spans_from_tags(["B", "I", "O"]) == [Span(0, 2, "ENTITY")]


@pytest.mark.parametrize(
    ("rows", "scheme"),
    [
        ([["O", "O"]], "IOB2"),
        ([["B-A", "I-A", "O"], ["B-A", "B-A"]], "IOB2"),
        ([["I-A", "I-A", "O"], ["I-A", "B-A"]], "IOB1"),
        ([["I-A", "O"], ["I-B"]], "IO"),
        ([["S-A", "O"], ["B-B", "E-B"]], "BIOES"),
        ([["U-A", "O"], ["B-B", "L-B"]], "BIOES"),
        ([["B-A", "O"]] * 20 + [["S-A"]], "IOB2"),  # one stray tag does not decide
        ([["I-A", "O"], ["B-A", "I-A"], ["B-A"], ["B-A"]], "IOB2"),
    ],
)
def test_the_scheme_with_the_fewest_faults_is_detected(rows, scheme):
    assert detect_scheme(rows) == scheme


@pytest.mark.parametrize(
    ("tags", "scheme", "places"),
    [
        (["O", "I-A"], "IOB2", [1]),
        (["B-A", "I-B"], "IOB2", [1]),
        (["B-A"], "IOB1", [0]),
        (["B-A", "O"], "BIOES", [1]),
        (["B-A"], "BIOES", [1]),  # never closed: the place behind the last word
        (["E-A"], "BIOES", [0]),
        (["B-A"], "IO", [0, 1]),
    ],
)
def test_faults_are_found_where_they_are(tags, scheme, places):
    assert faults(tags, scheme) == places


def test_a_sentence_may_begin_and_end_outside():
    assert all(is_legal(None, "O", scheme) and is_legal("O", None, scheme) for scheme in SCHEMES)


@pytest.mark.parametrize("tag", ["O", "B-PER", "I-geo-loc", "S_LOC", "B"])
def test_span_tags_are_recognised(tag):
    assert looks_like_span_tag(tag)


@pytest.mark.parametrize("tag", ["", "NN", "PER", "B-", "VERB", "o", "X", "-", "Sg-X"])
def test_other_tags_are_not_taken_for_span_tags(tag):
    assert not looks_like_span_tag(tag)


def test_overlapping_spans_are_refused():
    with pytest.raises(InputError, match="overlap"):
        tags_from_spans([Span(0, 2, "A"), Span(1, 3, "B")], 3)


@pytest.mark.parametrize("span", [Span(-1, 1, "A"), Span(1, 1, "A"), Span(2, 1, "A"), Span(0, 4, "A")])
def test_spans_outside_of_the_sentence_are_refused(span):
    with pytest.raises(InputError, match="does not fit"):
        tags_from_spans([span], 3)
