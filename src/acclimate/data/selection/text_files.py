"""Raw text files (plain, .gz or .xz) of any size, read in blocks of whole lines.

Large plain files are cut into pieces that several processes read at once. Lines of more than a megabyte are left out
and counted.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from acclimate.data.corpus import Sentence
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.source import (
    DAMAGE,
    XZ,
    Tokenize,
    compression_of,
    decompressing,
    inner_name,
    text_files_in,
)
from acclimate.data.words import find_blank_separated, find_sentences, find_words, grouped, split_words

BLOCK = LONGEST_LINE = 1 << 20  # bytes
PIECE = 16 << 20  # bytes on disk


@dataclass(frozen=True)
class Piece:
    """The lines of a file that begin between two places; of a compressed file, all of them."""

    file: str
    number: int  # in the order of files and places
    size: int  # bytes on disk
    start: int = 0
    stop: int | None = None


class TextBlock(NamedTuple):
    text: bytes  # whole lines of UTF-8
    first_line: int  # counted from 0 in the piece
    lines: int  # with those that were left out
    left_out: int  # lines that are too long
    stored: int  # bytes of the file, as it is on disk, up to here


def cut_into_pieces(files: Iterable[str | Path]) -> list[Piece]:
    """All pieces of files, in order. Refuses a file that cannot be opened."""
    pieces: list[Piece] = []
    for file in files:
        with opened(file) as (stored, text):
            compressed, size = text is not stored, stored.seek(0, 2)
        starts = [0] if compressed else list(range(0, size, PIECE))
        for start in starts:
            stop = None if compressed else min(start + PIECE, size)
            pieces.append(Piece(str(file), len(pieces), (size if stop is None else stop) - start, start, stop))
    return pieces


def read_blocks(piece: Piece) -> Iterator[TextBlock]:
    """The lines of a piece, about a megabyte at a time."""
    line = 0
    with opened(piece.file) as (stored, file):
        if piece.start:
            file.seek(piece.start - 1)
            _finish_line(file)
        while piece.stop is None or file.tell() < piece.stop:
            text = file.read(BLOCK if piece.stop is None else min(BLOCK, piece.stop - file.tell()))
            if not text:
                break
            text, left_out = _whole_lines(text, file)
            lines = text.count(b"\n") + left_out + (bool(text) and not text.endswith(b"\n"))
            _check(text, piece, line)
            if piece.start == 0 and line == 0:
                text = text.removeprefix(codecs.BOM_UTF8)
            yield TextBlock(text, line, lines, left_out, min(stored.tell() - piece.start, piece.size))
            line += lines


def read_beginning(file: str | Path) -> bytes:
    """The first bytes, decompressed, whatever they are."""
    with opened(file) as (_, text):
        return text.read(BLOCK)


def _whole_lines(text: bytes, file: IO[bytes]) -> tuple[bytes, int]:
    """Text read on to the end of its last line, or, if that is too long, without it; and how many were left out."""
    if text.endswith(b"\n"):
        return text, 0
    rest = file.readline(LONGEST_LINE)
    begin = text.rfind(b"\n") + 1
    if len(text) - begin + len(rest) <= LONGEST_LINE:
        return text + rest, 0
    if not rest.endswith(b"\n"):
        _finish_line(file)
    return text[:begin], 1


def _finish_line(file: IO[bytes]) -> None:
    while (text := file.readline(LONGEST_LINE)) and not text.endswith(b"\n"):
        pass


def _check(text: bytes, piece: Piece, lines_before: int) -> None:
    problem, place = "a NUL character; this is not plain text, or it is UTF-16 without its mark.", text.find(b"\0")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as failure:
        problem, place = not_utf8(text[failure.start]), failure.start
    if place >= 0:
        line = _lines_before(piece) + lines_before + text.count(b"\n", 0, place) + 1
        begin, end = text.rfind(b"\n", 0, place) + 1, text.find(b"\n", place)
        shown = text[begin : end if end >= 0 else None].decode("utf-8", "backslashreplace")
        raise InputError(problem, file=piece.file, line=line, text=shown)


def not_utf8(byte: int) -> str:
    return f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8 (iconv -f LATIN1 -t UTF-8 OLD > NEW)."


def _lines_before(piece: Piece) -> int:
    """Lines of the file that begin before the piece does, for messages."""
    if not piece.start:
        return 0
    left, lines = piece.start - 1, 1  # the last of them reaches to the byte before the piece, or beyond
    with opened(piece.file) as (stored, _):
        while left and (block := stored.read(min(left, BLOCK))):
            left, lines = left - len(block), lines + block.count(b"\n")
    return lines


def first_lines(file: str | Path, most: int = 1 << 16) -> list[str]:
    """Whole lines from the beginning of a file, as far as `most` bytes go."""
    text = read_beginning(file)[:most]
    return text[: text.rfind(b"\n") + 1 or None].decode("utf-8", "replace").splitlines()


@contextmanager
def opened(file: str | Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The file as it is on disk, and decompressed."""
    try:
        stored = open(file, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise InputError("there is no such text file.", file=file) from None
    except IsADirectoryError:
        raise InputError("this is a folder; name the text files in it.", file=file) from None
    except OSError as failure:
        raise InputError(f"the file cannot be opened ({failure}).", file=file) from None
    with stored:
        compression = compression_of(stored.read(len(XZ)), Path(file).suffix.lower())
        stored.seek(0)
        if compression is None:
            yield stored, stored
            return
        try:
            with decompressing(stored, compression) as text:
                yield stored, text
        except DAMAGE as failure:
            line = 1
            with suppress(*DAMAGE), open(file, "rb") as again:
                for _ in decompressing(again, compression):
                    line += 1
            problem = f"the compressed file is cut short or damaged ({failure}). Copy or download it again."
            raise InputError(problem, file=file, line=line) from None


Watch = Callable[[int, int, int], None]  # bytes read of the files on disk, all their bytes, and bytes of text


class RawText:
    """Raw text files, plain, .gz or .xz, or a folder of .txt files, each a document. A line is a sentence, or, with
    `paragraphs`, a document of sentences. `lines_too_long` counts the lines over a megabyte, which are left out."""

    def __init__(
        self,
        files: str | Path | Sequence[str | Path],
        tokenize: Tokenize = "words",
        paragraphs: bool = False,
        watch: Watch = lambda stored, of, text: None,
    ) -> None:
        self.path = Path(files) if isinstance(files, str | Path) else Path()
        self.is_folder = isinstance(files, str | Path) and self.path.is_dir()
        self.tokenize, self.paragraphs, self.watch = tokenize, paragraphs, watch
        if isinstance(files, str | Path):
            files = text_files_in(self.path) if self.is_folder else [files]
        self._pieces = cut_into_pieces(files)  # refuses a missing file now
        self.size = sum(piece.size for piece in self._pieces)
        self.lines_too_long = 0

    def words(self) -> Iterator[list[str]]:
        """The words of each sentence that has any."""
        for _, _, line in self._lines():
            for part in [line[start:end] for start, end in find_sentences(line)] if self.paragraphs else [line]:
                blanks = self.tokenize == "blanks"
                words = [part[start:end] for start, end in find_blank_separated(part)] if blanks else split_words(part)
                if words:
                    yield words

    def sentences(self) -> Iterator[Sentence]:
        find = find_blank_separated if self.tokenize == "blanks" else find_words
        for file, number, line in self._lines():
            document = inner_name(Path(file).name).removesuffix(".txt") if self.is_folder else None
            if self.paragraphs and document is None:
                document = f"line {number}"
            words = find(line)
            for first, last in grouped(words, find_sentences(line) if self.paragraphs else []):
                offsets = tuple(words[first:last])
                spelled = tuple(line[start:end] for start, end in offsets)
                yield Sentence(spelled, None, line, offsets, Place(file, number), document)

    def _lines(self) -> Iterator[tuple[str, int, str]]:
        """Each line with its file and its number."""
        done = text = number = 0
        for piece in self._pieces:
            number = number if piece.start else 0
            for block in read_blocks(piece):
                lines = block.text.decode("utf-8").split("\n")
                for line in lines if lines[-1] else lines[:-1]:  # a block that left out a long line had it at its end
                    number += 1
                    yield piece.file, number, line.removesuffix("\r")
                number += block.left_out
                self.lines_too_long += block.left_out
                text += len(block.text)
                self.watch(done + block.stored, self.size, text)
            done += piece.size
