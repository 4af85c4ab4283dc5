"""A baseline that another run has trained already: recipes that are compared need it only once per seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acclimate.data.problems import InputError
from acclimate.model.storage import StorageError, read_json
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import BASELINE
from acclimate.recipes.claim import begun_with

_DECISIVE = ("seed", "selector", "tagger", "training")  # beside the data: what a baseline's weights depend on


@dataclass(frozen=True)
class SharedBaseline:
    """The tagger trained on the source alone, and the summaries of its stages."""

    tagger: Tagger
    stages: list[dict[str, Any]]


def shared_baseline(folder: str | Path, wanted: Mapping[str, Any]) -> SharedBaseline | None:
    """That of a finished source-only run, if it was begun as the baseline of this run would be; None otherwise, and
    where the folder is damaged. `wanted` is what this run is begun with."""
    folder = Path(folder)
    try:
        found = begun_with(folder / "training")
        if found is None or found["recipe"] != BASELINE.name:
            return None
        if any(found[name] != wanted[name] for name in _DECISIVE):
            return None
        if any(found["data"][part] != wanted["data"][part] for part in ("source", "selector")):
            return None
        return SharedBaseline(Tagger.load(folder), read_json(folder / "report.json")["stages"])
    except (StorageError, InputError, OSError, KeyError, TypeError):
        return None
