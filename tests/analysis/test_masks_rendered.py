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
    assert [line.split()[:2] for line in lines[2:7]] == [
        ["a", "random"],
        ["b", "random"],
        ["c", "mix"],
        ["c", "entropy"],
        ["c", "random"],
    ]


def test_every_period_has_a_row() -> None:
    table = next(part for part in render_masks(STATISTICS).split("\n\n") if part.startswith("periods")).splitlines()
    assert [line.split()[:6] for line in table[2:4]] == [
        ["a", "random", "1", "10", "1", "1.000"],
        ["a", "random", "11", "20", "1", "0.000"],
    ]


def test_without_yardsticks_there_is_an_overview_all_the_same() -> None:
    shown = render_masks(mask_statistics(RUNS))
    assert shown.splitlines()[2].split()[-6:] == ["-"] * 6
    assert "parts-of-speech" not in shown
