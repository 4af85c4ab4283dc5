"""A small JSON file with a checksum of its own, for what is not sealed with a tagger."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from acclimate.model.storage import StorageError, read_json, write_json


def write_checksummed(place: Path, content: Any) -> None:
    """Whole or not at all."""
    aside = place.with_name(f"{place.name}.part")
    write_json(aside, {"checksum": _checksum(content), "content": content})
    aside.replace(place)


def read_checksummed(place: Path) -> Any:
    """What was written there. A file that cannot be read, was changed, or has no checksum is a StorageError."""
    try:
        file = read_json(place)
        if file["checksum"] == _checksum(file["content"]):
            return file["content"]
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise StorageError(f"{place}: damaged (its checksum does not fit).")


def _checksum(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
