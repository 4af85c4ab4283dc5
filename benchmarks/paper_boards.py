"""What each paper's recipe brings on the leaderboard, as the papers' pages say it, from
docs/explanation/results/leaderboard.jsonl.

    python benchmarks/paper_boards.py

Prints a sentence for each page under docs/papers. A test holds the pages to it: all four boards are told, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from grid import Row, read_rows
from leaderboard_jobs import MAIN, PLAIN

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {
    "mlm4uda": "adversarial-masking",
    "mat": "mat",
    "mslm": "mslm",
    "pdaln": "pdaln",
    "datnet": "datnet",
}
REFERENCE = {0: "source-only", 100: PLAIN}


def board_mean(rows: Sequence[Row], model: str, labels: int, typed: bool) -> float:
    """Of the means of seven targets."""
    wanted = (MAIN, model, labels, typed)
    own = [row for row in rows if (row["part"], row["model"], row["labels"], row["typed"]) == wanted]
    targets = dict.fromkeys(row["tested"] for row in own)
    return mean(mean(row["f1"] for row in own if row["tested"] == target) for target in targets)


def gains(rows: Sequence[Row], model: str, labels: int) -> str:
    """With four types, and type-less."""
    found = [
        board_mean(rows, model, labels, typed) - board_mean(rows, REFERENCE[labels], labels, typed)
        for typed in (True, False)
    ]
    return f"{found[0]:+z.1f} with four types and {found[1]:+z.1f} type-less"


def sentence(rows: Sequence[Row], model: str) -> str:
    told = f"mean F1 over seven targets: without target labels {gains(rows, model, 0)} beside not adapting"
    if model == "adversarial-masking":  # it learns no target label
        return f"{told}."
    return f"{told}; with 100 labels {gains(rows, model, 100)} beside learning both corpora plainly."


def main() -> None:
    rows = read_rows(DOCS / "explanation" / "results" / "leaderboard.jsonl")
    for page, model in PAGES.items():
        print(f"{page}.md: {sentence(rows, model)}")


if __name__ == "__main__":
    main()
