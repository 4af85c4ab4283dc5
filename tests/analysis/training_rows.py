"""Rows of a training record for the tests, as a run leaves them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def losses(stage: str, update: int, time: float = 0.0, **values: Any) -> Row:
    return {"kind": "update", "stage": stage, "update": update, "time": time, "learning_rate": 0.1, **values}


def look(stage: str, update: int, score: Any, selector: str = "span F1 on source dev") -> Row:
    return {"kind": "evaluation", "stage": stage, "update": update, "score": score, "selector": selector}


def game(stage: str, update: int, accuracy: Any, **more: Any) -> Row:
    parts = {"source_accuracy": accuracy, "target_accuracy": accuracy, "loss": 0.7}
    return {"kind": "game", "stage": stage, "update": update, "accuracy": accuracy, **parts, **more}


def confidence(stage: str, update: int, **probabilities: float) -> Row:
    sentences = [
        {"words": words, "probability": value, "marginals": [value, 1.0]} for words, value in probabilities.items()
    ]
    return {"kind": "confidence", "stage": stage, "update": update, "sentences": sentences}


def write(path: Path, rows: Iterable[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def write_run(folder: Path) -> Path:
    """A run with everything in it: the baseline, then a recipe of two stages."""
    write(
        folder / "training" / "source-only" / "records.jsonl",
        [losses("source", 10, 1.0, tag=3.0), losses("source", 20, 2.0, tag=1.0), look("source", 20, 0.5)],
    )
    rows = [losses("warm-up", 10, 3.0, tag=0.9)]
    for update in range(10, 110, 10):
        rows.append(losses("align", update, 3.0 + update, tag=1 / update, domain=0.7))
        rows += [game("align", update, 0.9 - update / 250), look("align", update, update / 200)]
        rows.append(confidence("align", update, **{"Anna left": update / 100, "omg": 0.5}))
    write(folder / "training" / "align" / "records.jsonl", rows)
    return folder
