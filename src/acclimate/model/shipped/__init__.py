"""Taggers that come with the package, as `Tagger.save` writes them."""

from __future__ import annotations

from pathlib import Path

from acclimate.model.storage import StorageError
from acclimate.settings import UsageError

PART_OF_SPEECH = "part-of-speech"
GENERAL = "general"
SHIPPED_TAGGERS = {
    GENERAL: "people, places, organisations and other names in English",
    PART_OF_SPEECH: "universal parts of speech of English",
}
HOME = Path(__file__).parent


def shipped_tagger_path(name: str = PART_OF_SPEECH) -> Path:
    """The folder of a tagger of the package."""
    if name not in SHIPPED_TAGGERS:
        known = ", ".join(SHIPPED_TAGGERS)
        raise UsageError(f"No tagger called {name!r} comes with the package; there is {known}.")
    folder = HOME / name
    if not folder.is_dir():
        raise StorageError(
            f"{name} should come with the package, but this installation lacks it ({folder}). "
            "Install the package again, or give the folder of another tagger."
        )
    return folder


def resolved_tagger(place: str | Path) -> Path:
    """The folder of a tagger: of the package by name, or any other. A folder of the same name here is refused."""
    if not isinstance(place, str) or place not in SHIPPED_TAGGERS:
        return Path(place)
    if Path(place).is_dir():
        raise UsageError(
            f"{place} is a tagger that comes with the package, and also a folder here. "
            f"Write ./{place} for the folder, or run the command elsewhere for the other."
        )
    return shipped_tagger_path(place)
