"""Concepts as the user names them: a file, a bundled file, or `package:diseases`."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from acclimate.data.concepts.concept import Concept
from acclimate.data.concepts.files import read_concepts
from acclimate.data.concepts.packages import PREFIX, read_package
from acclimate.data.problems import InputError

BUNDLED_CONCEPTS = {"clinical": "common diseases, symptoms, drugs and procedures; written for this project"}


def load_concepts(name: str | Path) -> list[Concept]:
    """The concepts of a source. A file of that name wins over a bundled one."""
    text = str(name)
    if text.startswith(PREFIX):
        return read_package(text.removeprefix(PREFIX))
    if text in BUNDLED_CONCEPTS and not Path(text).exists():
        with as_file(files("acclimate.data.concepts") / "bundled" / f"{text}.csv") as file:
            return read_concepts(file)
    if not Path(text).suffix and not Path(text).exists():
        raise InputError(f"no such concepts. Name a file, or bundled ones: {', '.join(BUNDLED_CONCEPTS)}.", file=text)
    return read_concepts(name)
