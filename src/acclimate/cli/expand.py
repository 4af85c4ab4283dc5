"""Names for the corpora of one command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acclimate.cli.corpora import PARTS, is_bundled
from acclimate.cli.progress import warn
from acclimate.data.problems import InputError

_ORDER = ("train", "dev", "valid", "test", "unlabelled")
_SUFFIXES = (".conll", ".txt", ".conllu", ".jsonl", ".json", ".csv", ".tsv", ".parquet", ".spacy", ".iob", ".bio")


def expand(places: Sequence[str]) -> dict[str, str]:
    """Short names for files; a folder or a bundled domain stands for the corpora in it, the training part first."""
    return short_names([inner for place in places for inner in _parts(place)])


def short_names(places: Sequence[str]) -> dict[str, str]:
    """The last part of each path as its name; two of one name are told apart by their folders. One that is named twice
    is taken once, and that is said."""
    for place in sorted({place for place in places if places.count(place) > 1}):
        warn(f"{place} is named {places.count(place)} times: it is read once.")
    names = {place: Path(place).name or place for place in places}
    if len(set(names.values())) < len(names):
        names = {place: "/".join(Path(place).parts[-2:]) for place in places}
    if len(set(names.values())) < len(names):
        names = {place: place for place in places}
    return {name: place for place, name in names.items()}


def _parts(place: str) -> list[str]:
    folder = Path(place)
    if "/" not in place and is_bundled(place):
        return [f"{place}/{part}" for part in PARTS]
    if not folder.is_dir() or any(folder.glob("*.ann")):  # a brat folder is one corpus
        return [place]
    files = [path for path in folder.iterdir() if _plain_name(path).endswith(_SUFFIXES) and "LICENSE" not in path.name]
    if not files:
        raise InputError("no corpus file in this folder. Name the files, or a folder that holds them.", file=place)
    return [str(path) for path in sorted(files, key=_rank)]


def _plain_name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".xz").lower()


def _rank(path: Path) -> tuple[int, str]:
    rank = next((number for number, part in enumerate(_ORDER) if part in path.name.lower()), len(_ORDER))
    return rank, path.name
