"""A small file beside the sealed ones of a run, written later or taken away earlier: with a checksum of its own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from acclimate.model.storage import StorageError, read_json, write_json


def put_kept(place: Path, kept: Any) -> None:
    """Whole or not at all."""
    aside = place.with_name(f"{place.name}.part")
    write_json(aside, {"checksum": _checksum(kept), "kept": kept})
    aside.replace(place)


def read_kept(place: Path) -> Any:
    """What was put there. A file that cannot be read, was changed, or has no checksum is a StorageError."""
    try:
        found = read_json(place)
        if found["checksum"] == _checksum(found["kept"]):
            return found["kept"]
    except (ValueError, KeyError, TypeError):
        pass
    raise StorageError(f"{place}: damaged (its checksum does not fit).")


def _checksum(kept: Any) -> str:
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()
