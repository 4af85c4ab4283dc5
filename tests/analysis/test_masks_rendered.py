"""What several runs hid, as tables to print."""

from __future__ import annotations

from mask_rows import TagsByRule, corpus, row

from acclimate.analysis.masks import Yardsticks, mask_statistics, render_masks

YARDSTICKS = Yardsticks(corpus("old"), corpus("new"), tagger=TagsByRule({"new": "NOUN", "old": "ADJ"}))
RUNS = {
    "a": [row("[new] old", update=10), row("new [old]", update=20)],
    "b": [row("new [old]", update=10)],
    "c": [row("[new] old", update=10, policy="mix", by="entropy"), row("[old]", update=10, policy="mix", by="random")],
}
STATISTICS = mask_statistics(RUNS, YARDSTICKS, every=10)


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


def test_every_period_has_a_row_and_every_run_a_column() -> None:
    table = render_masks(STATISTICS).split("\n\n")[1].splitlines()
    assert table[1].split() == ["up", "to", "update", "a", "b", "c", "c,", "by", "entropy", "c,", "by", "random"]
    assert [line.split()[:3] for line in table[2:]] == [["10", "1.000", "0.000"], ["20", "0.000", "-"]]


def test_without_yardsticks_there_is_an_overview_all_the_same() -> None:
    shown = render_masks(mask_statistics(RUNS))
    assert "density ratio of the hidden words" not in shown
    assert "parts of speech" not in shown
