"""Names for the corpora of one command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_ORDER = ("train", "dev", "valid", "test", "unlabelled")
_SUFFIXES = (".conll", ".txt", ".conllu", ".jsonl", ".json", ".csv", ".tsv", ".parquet", ".spacy", ".iob", ".bio")


def expand(places: Sequence[str]) -> dict[str, str]:
    """Short names for files; a folder stands for the corpus files in it, the training part first."""
    found: list[str] = []
    for place in places:
        folder = Path(place)
        is_brat = folder.is_dir() and any(folder.glob("*.ann"))
        found += _inside(folder) if folder.is_dir() and not is_brat else [place]
    names = {place: Path(place).name for place in found}
    if len(set(names.values())) < len(names):  # two files of one name: their folders tell them apart
        names = {place: "/".join(Path(place).parts[-2:]) for place in found}
    if len(set(names.values())) < len(names):
        names = {place: place for place in found}
    return {name: place for place, name in names.items()}


def _inside(folder: Path) -> list[str]:
    files = [path for path in folder.iterdir() if _plain_name(path).endswith(_SUFFIXES) and "LICENSE" not in path.name]
    return [str(path) for path in sorted(files, key=_rank)]


def _plain_name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".xz").lower()


def _rank(path: Path) -> tuple[int, str]:
    rank = next((number for number, part in enumerate(_ORDER) if part in path.name.lower()), len(_ORDER))
    return rank, path.name
