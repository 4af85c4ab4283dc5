"""A run's folder belongs to the run that began in it: other data, settings or seed may not go on there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acclimate.model.storage import read_json, write_json
from acclimate.model.tagger import Tagger
from acclimate.settings import UsageError

_CLAIM = "begun-with.json"


def claim(folder: Path, begun_with: Mapping[str, Any]) -> None:
    """Note what this run is begun with, or see that it is what the run on disk was begun with."""
    place = folder / _CLAIM
    if place.is_file():
        then, now = dict(_leaves(read_json(place))), dict(_leaves(begun_with))
        changed = [name for name in {**then, **now} if then.get(name) != now.get(name)]
        if changed:
            shown = "\n".join(f"  {name}: then {then.get(name)}, now {now.get(name)}" for name in changed[:12])
            raise UsageError(
                f"{folder.parent} holds an unfinished run that was begun otherwise:\n{shown}\n"
                "Give the same settings and data to go on with it, choose another folder, or start anew (--overwrite)."
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    aside = place.with_suffix(".part")
    write_json(aside, begun_with)
    aside.replace(place)


def fingerprint(tagger: Tagger) -> str:
    """Changes with the tagger's make and labels (not with its weights, which a seed decides)."""
    make = {"encoder": tagger.encoder.description(), "head": tagger.head_name, "tags": tagger.tags}
    return hashlib.sha256(json.dumps(make, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()[:16]


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Nested settings as `training.clip` → its value, spelled as JSON."""
    if isinstance(tree, Mapping) and tree:
        for name, value in tree.items():
            yield from _leaves(value, f"{path}.{name}" if path else str(name))
    else:
        yield path, json.dumps(tree, sort_keys=True, default=str)
