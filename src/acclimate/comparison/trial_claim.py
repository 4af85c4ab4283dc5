"""What a run was made from, then and now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acclimate.recipes.claim import begun_with
from acclimate.settings import differences


def changes(found: Mapping[str, Any], wanted: Mapping[str, Any], training: Path) -> list[str]:
    """What is not as it was when a run began, a line each. `found` is its claim, of this version or an earlier one;
    in `training` it may have noted more."""
    settings = [{name: value for name, value in claim.items() if name != "files"} for claim in (found, wanted)]
    return [*differences(*settings), *_changed_files(found, wanted["files"], training)]


def _changed_files(found: Mapping[str, Any], files: Mapping[str, str], training: Path) -> list[str]:
    """Only of files that are here now: a finished run does not need them any more."""
    if "files" in found:
        then = {name: found["files"].get(name, "no such file") for name in files}
    else:  # an earlier version noted no content but that of files which the recipe's options name
        noted = _noted(training)
        then = {name: noted.get(name, content) for name, content in files.items()}
    return [
        f"  files.{name}: its content has changed ({then[name]} then, {content} now)"
        for name, content in files.items()
        if then[name] != content
    ]


def _noted(training: Path) -> Mapping[str, str]:
    try:
        noted: Mapping[str, str] = (begun_with(training) or {}).get("extra", {})
    except ValueError:  # it cannot be read, so it contradicts nothing
        return {}
    return noted
