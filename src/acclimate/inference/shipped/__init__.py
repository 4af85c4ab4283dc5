"""Taggers that come with the package: a folder each, as `Tagger.save` writes it. Nothing is fetched for them."""

from __future__ import annotations

from pathlib import Path

from acclimate.model.storage import StorageError
from acclimate.settings import UsageError
from acclimate.spelling import argument

PART_OF_SPEECH = "part-of-speech"
GENERAL = "general"
SHIPPED_TAGGERS = {PART_OF_SPEECH: "universal parts of speech of English"}
HOME = Path(__file__).parent


def shipped_tagger_path(name: str = PART_OF_SPEECH) -> Path:
    """The folder of a tagger that comes with the package: `Tagger.load(shipped_tagger_path())`."""
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


def default_start() -> str:
    """The tagger that is adapted where none is named."""
    if GENERAL not in SHIPPED_TAGGERS:
        raise UsageError(
            f"No tagger comes with the package that could be adapted without a source: name one ({argument('start')}), "
            f"or give labelled sentences to train one on ({argument('source')})."
        )
    return GENERAL


def resolved_tagger(place: str | Path) -> Path:
    """Where a tagger is: a shipped one by its name, any other by its folder. A folder of the same name is refused
    rather than guessed about: the command would mean one thing here and another there."""
    if not isinstance(place, str) or place not in SHIPPED_TAGGERS:
        return Path(place)
    if Path(place).is_dir():
        raise UsageError(
            f"{place} is a tagger that comes with the package, and also a folder here. "
            f"Write ./{place} for the folder, or run the command elsewhere for the other."
        )
    return shipped_tagger_path(place)
