"""Data sets for tests of the benchmarks: folders with a file for each part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from acclimate.data.corpus import Corpus
from acclimate.data.writing import write_corpus


def written(place: Path, sizes: Mapping[str, Mapping[str, int]], make_corpus: Callable[..., Corpus]) -> Path:
    """So many made-up sentences of each part of each set, no two parts with the same seed."""
    for seed, (name, parts) in enumerate(sizes.items()):
        (place / name).mkdir(parents=True)
        for number, (part, size) in enumerate(parts.items()):
            write_corpus(make_corpus(size, seed=10 * seed + number), place / name / f"{part}.conll")
    return place
