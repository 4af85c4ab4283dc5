"""What a run was made from, then and now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acclimate.recipes.catalogue import find_recipe
from acclimate.runs.fingerprint import begun_with
from acclimate.settings import as_known_now, differences


def changes(found: Mapping[str, Any], wanted: Mapping[str, Any], all_data: str, training: Path) -> list[str]:
    """What is not as it was when a run began, a line each. `found` is its claim, of this version or an earlier one;
    in `training` it may have noted more. `all_data` is the fingerprint of all corpora together."""
    data = changed_data(found, wanted["data"], all_data)
    settings = differences(_settings(found), _settings(wanted))
    return [*data, *settings, *_changed_files(found, wanted["files"], training)]


def _settings(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a claim; options that its version did not have are at their defaults."""
    options = as_known_now(find_recipe(claim["recipe"]).options, claim["options"])
    return {name: value for name, value in claim.items() if name not in ("data", "files")} | {"options": options}


def changed_data(found: Mapping[str, Any], data: Mapping[str, str | None], all_data: str) -> list[str]:
    """Which corpora are not those that a run was begun with."""
    then = found.get("data")
    if not isinstance(then, Mapping):  # an earlier version noted one fingerprint
        return [] if then == all_data else ["  data: one of the corpora has other sentences or tags now, or is missing"]
    return [
        f"  data.{part}: {_what_became(then.get(part), now)}" for part, now in data.items() if then.get(part) != now
    ]


def _what_became(then: str | None, now: str | None) -> str:
    if then is None:
        return "none then, given now"
    return "given then, none now" if now is None else "other sentences or tags now"


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
