"""Runs of one policy as one curve."""

from __future__ import annotations

import pytest
from mask_rows import TagsByRule, corpus, row

from acclimate.analysis.mask_tables import (
    ALL_WORDS,
    density_curves,
    mean_part_of_speech_shares,
    policies_as_dict,
    render_masks,
)
from acclimate.analysis.masks import Yardsticks, mask_statistics
from acclimate.data.problems import InputError

YARDSTICKS = Yardsticks(corpus("old"), corpus("new"), tagger=TagsByRule({"new": "NOUN", "old": "ADJ"}))
RUNS = {
    "a": [row("[new] old", update=10), row("new [old]", update=20)],
    "b": [row("new [old]", update=10)],
    "c": [row("[new] old", update=10, policy="mix", by="entropy"), row("[old]", update=10, policy="mix", by="random")],
}
STATISTICS = mask_statistics(RUNS, YARDSTICKS, every=10)


def test_a_curve_is_the_mean_over_runs_with_the_lowest_and_the_highest() -> None:
    curve = density_curves(STATISTICS)[0]
    assert (curve.name, curve.runs) == ("random", 2)
    first, second = curve.points
    assert (first.mean, first.lowest, first.highest) == (0.5, 0.0, 1.0)
    assert (second.last, second.mean) == (20, 0.0)


def test_the_curve_of_all_words_comes_last() -> None:
    curve = density_curves(STATISTICS)[-1]
    assert curve.name == ALL_WORDS
    assert curve.points[0].mean == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 3)


def test_mixtures_can_be_split() -> None:
    names = [curve.name for curve in density_curves(STATISTICS, split=True)]
    assert names == ["random", "mix, by entropy", "mix, by random", ALL_WORDS]


def test_a_period_that_no_run_fills_has_no_mean() -> None:
    found = mask_statistics({"a": [row("[new]", update=30)]}, YARDSTICKS, every=10)
    assert [point.mean for point in density_curves(found)[0].points] == [None, None, 1.0]


def test_periods_of_different_length_cannot_be_averaged() -> None:
    other = mask_statistics({"d": RUNS["a"]}, YARDSTICKS, every=5)
    with pytest.raises(InputError, match="periods of different lengths"):
        density_curves([*STATISTICS, *other])


def test_parts_of_speech_are_averaged_over_runs() -> None:
    shares = mean_part_of_speech_shares(STATISTICS)
    assert list(shares) == [ALL_WORDS, "random", "mix"]
    assert (shares["random"]["NOUN"], shares["random"]["ADJ"]) == (0.25, 0.75)
    assert mean_part_of_speech_shares(mask_statistics(RUNS)) == {}


def test_policies_can_be_stored() -> None:
    stored = policies_as_dict(STATISTICS)
    assert [curve["name"] for curve in stored["density_ratio"]] == ["random", "mix", ALL_WORDS]
    assert stored["parts_of_speech"]["mix"]["ADJ"] == 0.5


def test_the_table_shows_every_run_and_the_parts_of_a_mixture() -> None:
    lines = render_masks(STATISTICS).splitlines()
    assert [line.split()[:2] for line in lines[1:6]] == [
        ["a", "random"],
        ["b", "random"],
        ["c", "mix"],
        ["c,", "by"],
        ["c,", "by"],
    ]
    assert "  c, by entropy" in render_masks(STATISTICS)


def test_more_periods_than_fit_are_shown_below_each_other() -> None:
    found = mask_statistics({"a": [row("[new]", update=25)]}, YARDSTICKS, every=1)
    assert render_masks(found).count("density ratio of the hidden words, up to update") == 3


def test_without_yardsticks_there_is_an_overview_all_the_same() -> None:
    shown = render_masks(mask_statistics(RUNS))
    assert "up to update" not in shown
    assert "parts of speech" not in shown
