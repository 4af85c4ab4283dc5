"""Files of word vectors: a word and its numbers per line, plain or compressed, with a header or without."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

from acclimate.data.compression import DAMAGE, XZ, compression_of, decompressing
from acclimate.data.problems import InputError
from acclimate.data.writers.saving import encoded, save

_HEADER = re.compile(rb"(\d+) (\d+)")  # word2vec's and fastText's first line: how many vectors, how wide
_LARGEST = float(np.finfo(np.float32).max)
_GENSIM = "python -c \"from gensim.models import {loader}; {call}.save_word2vec_format('vectors.txt')\""
_BINARIES = {  # first bytes → what it is, and how it becomes text
    b"\xba\x16\x4f\x2f": (
        "fastText's binary model",
        "Name the .vec file that fastText writes beside it, or save one: "
        + _GENSIM.format(loader="fasttext", call="fasttext.load_facebook_vectors('{file}')"),
    ),
    b"PK\x03\x04": ("a zip archive", "Unzip it, and name one of the text files in it."),
    b"\x80": (
        "a Python pickle, as gensim saves one",
        "Save it as text: " + _GENSIM.format(loader="KeyedVectors", call="KeyedVectors.load('{file}')"),
    ),
}
_WORD2VEC_BINARY = (
    "a binary file of word2vec",
    "Save it as text: "
    + _GENSIM.format(loader="KeyedVectors", call="KeyedVectors.load_word2vec_format('{file}', binary=True)"),
)


def vector_rows(path: str | Path) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """Words with their vectors, not yet turned into numbers: most rows of a big file are not wanted."""
    promised, found, width = 0, 0, None
    for number, line in numbered_lines(path, "word vectors", partial(_refuse_binary, path)):
        line = line.rstrip(b" \r\n")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
            if header := _HEADER.fullmatch(line):
                promised, width = map(int, header.groups())
                continue
        blanks = line.count(b" ")
        width = blanks if width is None else width
        if width == 0:
            problem = "no file of word vectors: a line is a word, then numbers, with single blanks between them."
            raise InputError(problem, file=path, line=number, text=decoded(line, path, number))
        if blanks < width:
            problem = f"a vector of {blanks} numbers among vectors of {width}."
            raise InputError(problem, file=path, line=number, text=decoded(line, path, number))
        # a few public files have words with inner blanks
        word = line[: line.index(b" ")] if blanks == width else line.rsplit(b" ", width)[0]
        found += 1
        yield decoded(word, path, number), partial(_vector, line[len(word) + 1 :], width, path, number)
    if not found:
        raise InputError("no vectors in this file.", file=path)
    if found < promised:
        problem = f"the first line promises {promised:,} vectors, and {found:,} are there. Was the file cut off?"
        raise InputError(f"{problem} If it was shortened on purpose, correct the first line.", file=path, line=1)


def write_vectors(words: Sequence[str], vectors: Tensor, path: str | Path) -> None:
    """word2vec's text format, whole or not at all; .gz and .xz are compressed, `-` is standard output."""
    lines = [f"{len(words)} {vectors.size(1)}"]
    for word, vector in zip(words, vectors.tolist(), strict=True):
        lines.append(" ".join([word, *(f"{value:.6g}" for value in vector)]))
    save(encoded("\n".join([*lines, ""])), path)


def numbered_lines(
    path: str | Path, what: str, refuse: Callable[[bytes], None] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Line numbers and lines, as bytes: such files may be larger than the memory. Only \\n ends a line here.

    `refuse` is shown the first bytes, decompressed, and may raise.
    """
    number = 0
    try:
        with open(path, "rb") as file, _decompressed(file) as lines:
            if refuse is not None:
                refuse(lines.peek(1))
            for number, line in enumerate(lines, start=1):
                yield number, line
    except FileNotFoundError:
        raise InputError(f"there is no such file of {what}.", file=path) from None
    except IsADirectoryError:
        raise InputError(f"this is a folder; a file of {what} was expected.", file=path) from None
    except DAMAGE as failure:
        raise InputError(f"cannot be read on ({failure}).", file=path, line=number + 1) from None


def decoded(line: bytes, path: str | Path, number: int) -> str:
    """Bytes as text, or the line that is none."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} of the line (0x{line[error.start]:02x})"
        advice = "Save the file as UTF-8 (iconv -f LATIN1 -t UTF-8 OLD > NEW; or -f UTF-8 -c to leave such bytes out)."
        shown = line.decode("utf-8", "backslashreplace")
        raise InputError(f"{byte} is not UTF-8. {advice}", file=path, line=number, text=shown) from None


def _decompressed(file: BinaryIO) -> io.BufferedReader:
    """By what is in it and not by its name, as corpora are read."""
    assert isinstance(file, io.BufferedReader)
    opened: Any = decompressing(file, compression_of(file.peek(len(XZ))))
    return io.BufferedReader(opened, 1 << 16)


def _vector(text: bytes, width: int, path: str | Path, number: int) -> Tensor:
    try:
        values = [float(value) for value in text.split(b" ")]
    except ValueError:
        shown = text.decode("utf-8", "backslashreplace")
        problem = f"expected a word and {width} numbers."
        raise InputError(problem, file=path, line=number, text=shown) from None
    if not all(-_LARGEST <= value <= _LARGEST for value in values):
        bad = next(value for value in values if not -_LARGEST <= value <= _LARGEST)
        problem = f"{bad} in a vector, which no training survives. Remove the line."
        raise InputError(problem, file=path, line=number)
    return torch.tensor(values)


def _refuse_binary(path: str | Path, start: bytes) -> None:
    what, advice = next((found for magic, found in _BINARIES.items() if start.startswith(magic)), (None, ""))
    if what is None and _is_binary(start):
        has_header = _HEADER.fullmatch(start.partition(b"\n")[0]) is not None
        what, advice = _WORD2VEC_BINARY if has_header else ("a binary file", "Save it as text: a word and its numbers.")
    if what is not None:
        problem = f"this is {what}, and word vectors are read from text, a word and its numbers per line."
        raise InputError(f"{problem} {advice.replace('{file}', str(path))}", file=path)


def _is_binary(start: bytes) -> bool:
    if b"\0" in start:
        return True
    header, _, rest = start.partition(b"\n")
    if _HEADER.fullmatch(header) is None:
        return False  # one odd byte in a text is told with its line
    try:  # the last character may be cut: only the beginning is here
        text = codecs.getincrementaldecoder("utf-8")().decode(rest.partition(b"\n")[0])
    except UnicodeDecodeError:
        return True
    return any(letter < " " and letter not in "\t\r" for letter in text)
