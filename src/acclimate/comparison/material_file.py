"""What a comparison keeps so that a report can be made of its folder alone: the test with its gold tags, some text of
both domains, and how far apart they are. It is written when all runs are over; none of them ever reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from acclimate.analysis.inspection.measures import sampled
from acclimate.comparison.tables import put
from acclimate.data.corpus import Corpus
from acclimate.runs.evidence import SOURCE, TARGET, text_figures
from acclimate.runs.task import Task

MATERIAL = "material.json"
_SENTENCES = 200  # of each domain, to draw a map of its words from


def write_material(task: Task, folder: Path) -> None:
    test, target = task.target_test, task.target or task.target_labelled
    source_text = task.source_test or task.source_dev or task.source
    target_text = test or target
    kept: dict[str, Any] = {
        "test": None if test is None or not test.is_labelled else _labelled(test),
        "names": {SOURCE: source_text.name, TARGET: None if target_text is None else target_text.name},
        "sample": {SOURCE: _words(source_text), TARGET: None if target_text is None else _words(target_text)},
        "text": text_figures(task.source, target),
    }
    put(folder / MATERIAL, json.dumps(kept))  # pure ASCII: a word may hold half a surrogate pair


def _labelled(test: Corpus) -> dict[str, Any]:
    rows = {"words": [sentence.words for sentence in test], "gold": [sentence.tags for sentence in test]}
    return {"name": test.name, "kind": test.kind, **rows}


def _words(corpus: Corpus) -> list[tuple[str, ...]]:
    return [sentence.words for sentence in sampled(corpus, _SENTENCES)]
