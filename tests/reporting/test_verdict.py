"""Words for numbers: helps, hurts, or nothing shown."""

from __future__ import annotations

import pytest

from acclimate.data.schemes import Span
from acclimate.evaluation.table import duration
from acclimate.reporting.formatting import decimal, equals, p_of_tests, p_value, percent, short, signed, signed_between
from acclimate.reporting.report import forgetting
from acclimate.reporting.scores import ScoreLine, judge
from acclimate.reporting.sentences import BROKEN, MENDED, WRONG, Example
from acclimate.reporting.svg import coordinate
from acclimate.reporting.training import flat


@pytest.mark.parametrize(
    ("difference", "p", "word"),
    [
        (0.03, 0.01, "helps"),
        (0.03, 0.05, "helps"),
        (0.03, 0.051, "no difference shown"),
        (-0.03, 0.01, "hurts"),
        (-0.03, 0.5, "no difference shown"),
        (0.0, 0.001, "no difference shown"),
        (None, None, "nothing to compare"),
    ],
)
def test_a_difference_counts_only_when_chance_seldom_makes_it(
    difference: float | None, p: float | None, word: str
) -> None:
    assert judge(difference, p).word == word


def test_a_verdict_has_a_sign_beside_its_colour() -> None:
    assert len({judge(difference, 0.01).sign for difference in (0.1, -0.1, 0.0)}) == 3


def test_a_change_is_judged_by_the_larger_of_both_p_values() -> None:
    few = {"difference": 0.5, "bootstrap_p": 0.001, "permutation_p": 0.5}
    line = ScoreLine("target", "accuracy", 0.5, 1.0, None, None, few)
    assert line.verdict.word == "no difference shown"
    assert p_of_tests(few) == "0.001 (permutation test: 0.500)"
    assert p_of_tests({"bootstrap_p": 0.001, "permutation_p": 0.002}) == "0.001"
    assert p_of_tests(None) == "–"


def test_figures_are_spelled_for_people() -> None:
    assert (percent(0.1234), percent(None), percent(0.5, 2)) == ("12.3", "–", "50.00")
    assert (signed(0.01), signed(-0.01), signed(0.0001)) == ("+1.0", "−1.0", "±0.0")
    assert signed_between(-0.01, 0.02) == "−1.0 to +2.0"
    assert (p_value(0.0004), p_value(0.05), p_value(None)) == ("< 0.001", "0.050", "–")
    assert (equals(p_value(0.0004)), equals(p_value(0.05))) == ("< 0.001", "= 0.050")
    assert (decimal(-0.5), decimal(None)) == ("−0.500", "–")
    assert (duration(9), duration(600), duration(7200)) == ("9 s", "10 min", "2.0 h")
    assert (coordinate(1.0), coordinate(1.256), coordinate(-0.001)) == ("1", "1.26", "0")
    assert (short("abc", 3), short("abcd", 3)) == ("abc", "ab…")


PER, LOC = Span(0, 1, "PER"), Span(0, 1, "LOC")


@pytest.mark.parametrize(
    ("before", "after", "group"),
    [
        ((PER,), (PER,), None),
        ((LOC,), (PER,), MENDED),
        ((), (PER,), MENDED),
        ((PER,), (), BROKEN),
        ((LOC,), (LOC,), WRONG),
        (None, (PER,), None),
        (None, (LOC,), WRONG),
    ],
)
def test_a_sentence_is_mended_broken_or_still_wrong(
    before: tuple[Span, ...] | None, after: tuple[Span, ...], group: str | None
) -> None:
    assert Example(1, ("Anna",), (PER,), before, after).group == group


def test_settings_are_told_by_their_whole_names() -> None:
    tree = {"a": {"b": 1, "c": {}}, "d": None, "e": True}
    assert list(flat(tree)) == [("a.b", "1"), ("a.c", "{}"), ("d", "none"), ("e", "true")]


def line(domain: str, difference: float) -> ScoreLine:
    change = {"difference": difference, "bootstrap_p": 0.001, "permutation_p": 0.001}
    return ScoreLine(domain, "F1, with labels", 0.5, 0.5 + difference, None, None, change)


@pytest.mark.parametrize(
    ("target", "source", "told"),
    [
        (0.1, 0.1, "rose, too (+10.0 points)"),
        (-0.1, 0.1, "rose (+10.0 points)"),
        (0.1, -0.1, "fell: a part of the source was forgotten (−10.0 points)"),
        (-0.1, -0.1, "fell, too: a part of the source was forgotten (−10.0 points)"),
        (-0.1, 0.0, "shows no difference (±0.0 points)"),
    ],
)
def test_the_source_score_is_told_beside_what_the_target_did(target: float, source: float, told: str) -> None:
    lines = [line("target", target), line("source", source)]
    assert f"The source score {told}." in str(forgetting(lines[0], lines))


def test_a_measure_reads_well_within_a_sentence() -> None:
    assert line("target", 0.1).in_a_sentence == "F1 with labels"
