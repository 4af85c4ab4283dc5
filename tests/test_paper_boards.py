"""The papers' pages tell what their recipes bring on all boards, and with the numbers of the rows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import paper_boards


@pytest.mark.parametrize("page", paper_boards.PAGES)
def test_a_page_tells_all_boards_as_the_rows_have_them(page: str) -> None:
    rows = paper_boards.read_rows(paper_boards.DOCS / "explanation" / "results" / "leaderboard.jsonl")
    told = " ".join((paper_boards.DOCS / "papers" / f"{page}.md").read_text(encoding="utf-8").split())
    assert paper_boards.sentence(rows, paper_boards.PAGES[page]) in told, "run python benchmarks/paper_boards.py"


def test_a_gain_is_the_difference_of_the_means_over_targets() -> None:
    def row(model: str, target: str, f1: float, typed: bool = True) -> dict[str, object]:
        return {"part": "main", "model": model, "labels": 0, "typed": typed, "tested": target, "f1": f1}

    rows = [row("source-only", "a", 10), row("source-only", "b", 20), row("source-only", "a", 5, typed=False)]
    rows += [row("mat", "a", 11), row("mat", "a", 13), row("mat", "b", 30), row("mat", "a", 4, typed=False)]
    rows += [{**row("mat", "a", 99), "part": "again"}]
    assert paper_boards.gains(rows, "mat", 0) == "+6.0 with four types and -1.0 type-less"
