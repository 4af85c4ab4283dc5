"""`compare` on corpora and settings that are named one by one, as tests like to change them."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from acclimate.comparison import compare as module
from acclimate.comparison.results import Comparison
from acclimate.data.corpus import Corpus
from acclimate.runs.settings import SharedSettings
from acclimate.runs.task import Task

PARTS = {part.name for part in fields(Task)}


def compare(
    source: Corpus, target: Corpus | None, recipes: list[str], seeds: Any, out: Path, **given: Any
) -> Comparison:
    corpora = {name: given.pop(name) for name in list(given) if name in PARTS}
    settings = {name: given.pop(name) for name in list(given) if name in SharedSettings.model_fields}
    task = Task(source, target=target, **corpora)
    return module.compare(task, recipes, seeds, out, settings=settings, **given)
