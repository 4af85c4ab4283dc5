"""What every reader gets: the source of the bytes, the reading options, and a log of what was changed or left out."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, cast, get_args

from acclimate.data.corpus import AnnotatorNote, BorderMiss, Distribution, Kind
from acclimate.data.problems import InputError, Skipped
from acclimate.data.schemes import Span
from acclimate.data.words import Offsets, find_blank_separated, find_words
from acclimate.spelling import argument, did_you_mean

GZIP, XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)  # what reading a damaged file raises
Compression = Literal["gzip", "xz"]

_BY_SUFFIX: dict[str, Compression] = {".gz": "gzip", ".xz": "xz"}
_BLOCK = 1 << 16  # bytes
_PADDING = 4  # a stream of an .xz file may be followed by a multiple of so many zeros
_UNREAD = {b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "Zstandard", b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7-zip"}


def compression_of(start: bytes, suffix: str = "") -> Compression | None:
    """How a file is compressed, by its first bytes, or by its name where the bytes say nothing."""
    if start.startswith((GZIP, XZ)):
        return "gzip" if start.startswith(GZIP) else "xz"
    return _BY_SUFFIX.get(suffix) if start else None


def decompressing(stored: IO[bytes], compression: Compression | None) -> IO[bytes]:
    """The file as it was before it was compressed. Reading it raises one of DAMAGE where it is damaged."""
    if compression == "gzip":
        return cast(IO[bytes], gzip.GzipFile(fileobj=stored))
    return io.BufferedReader(_XzFile(stored), _BLOCK) if compression == "xz" else stored


class _XzFile(io.RawIOBase):
    """An .xz file of one or more streams. Unlike `lzma.LZMAFile` it refuses other bytes behind a stream."""

    def __init__(self, stored: IO[bytes]) -> None:
        self._chunks, self._rest = _xz_chunks(stored), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        chunk = self._rest or next(self._chunks, b"")
        size = min(len(view), len(chunk))
        view[:size], self._rest = chunk[:size], chunk[size:]
        return size


def _xz_chunks(stored: IO[bytes]) -> Iterator[bytes]:
    packed = stored.read(_BLOCK)
    while packed:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        while not stream.eof:
            packed = packed or (stored.read(_BLOCK) if stream.needs_input else b"")
            if stream.needs_input and not packed:
                raise EOFError("the file ends before its end mark")
            if unpacked := stream.decompress(packed, _BLOCK):
                yield unpacked
            packed = b""
        rest, zeros = stream.unused_data, 0
        while not packed and (rest := rest or stored.read(_BLOCK)):
            packed = rest.lstrip(b"\0")
            zeros += len(rest) - len(packed)
            rest = b""
        if zeros % _PADDING:
            raise lzma.LZMAError("there are odd bytes behind a part")


Borders = Literal["split", "error", "expand", "drop"]
Tokenize = Literal["words", "blanks"]


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """The options of `read_corpus`, which explains them."""

    labels: Kind | None = None
    column: int | str | None = None
    words_column: int | str | None = None
    comments: bool = False
    skip_bad: bool = False
    borders: Borders = "split"
    paragraphs: bool = False
    tokenize: Tokenize | None = None  # words

    def __post_init__(self) -> None:
        for name, choices in (("labels", Kind), ("borders", Borders), ("tokenize", Tokenize)):
            value = getattr(self, name)
            if value is not None and value not in get_args(choices):
                known = ", ".join(map(repr, get_args(choices)))
                raise InputError(f"{argument(name, value)}: choose one of {known}.")

    def find_words(self, text: str) -> Offsets:
        return find_blank_separated(text) if self.tokenize == "blanks" else find_words(text)


@dataclass(slots=True)
class RawSentence:
    """A sentence as the file spells it, with `tags` or with `spans`; without annotation it has neither."""

    words: Sequence[str]
    tags: Sequence[str] | None = None
    spans: Sequence[Span] | None = None
    probabilities: tuple[Distribution, ...] | None = None  # of guesses with scores
    lines: Sequence[int] = ()  # of each word
    text: str | None = None
    offsets: Sequence[tuple[int, int]] | None = None
    document: str | None = None
    file: str | None = None  # when it is not the source itself (a folder has many)


@dataclass(slots=True)
class ReadingLog:
    """Raises the first error, or collects the errors (`skip_bad`); collects the other notes as well."""

    options: ReadingOptions
    kind: Kind | None = None  # set by a reader that knows which tags it gives
    skipped: list[Skipped] = field(default_factory=list)
    border_misses: list[BorderMiss] = field(default_factory=list)
    annotators: tuple[AnnotatorNote, ...] = ()
    annotates: tuple[str, ...] | None = None  # set by a reader that knows which labels were looked for
    counts: Counter[str] = field(default_factory=Counter)  # things that happen often: "words had …" → how many

    def refuse(
        self, error: InputError, *, file: str | None = None, line: int | None = None, text: str | None = None
    ) -> None:
        """Raise the error, or note it and go on. The place is filled in where the error has none."""
        place = error.place
        placed = InputError(
            error.problem,
            file=place.file or file,
            line=place.line if place.line is not None else line,
            text=error.text if error.text is not None else text,
        )
        if not self.options.skip_bad:
            raise placed from error.__cause__
        problem = re.sub(
            rf"[,;] or pass {re.escape(argument('skip_bad', True))}( to leave its sentence out)?", "", placed.problem
        )  # which was followed
        self.skipped.append(Skipped(placed.place, problem, placed.text or ""))

    @contextmanager
    def refusing(self, file: str, line: int | None = None, text: str | None = None) -> Iterator[None]:
        """Refuse the errors that are raised inside, which belong to this place."""
        try:
            yield
        except InputError as error:
            self.refuse(error, file=file, line=line, text=text)

    def count(self, what: str, times: int = 1) -> None:
        """Count something that the user should know."""
        self.counts[what] += times

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(f"{times:,} {what}" for what, times in self.counts.items())


# a corpus shrinks to a third or a twentieth; what grows beyond these is no corpus, and would fill the memory
_GROWTH = 100
_SMALL = 64 << 20  # bytes, which any file may grow to
_LONGEST_LINE = 64 << 20  # bytes, where a file is read in parts
_PART = 1 << 16  # bytes, and what is left of the last line
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")  # what a byte that is not UTF-8 becomes
_NO_TEXT = re.compile("[\0\udc80-\udcff]")
_OTHER_ENCODINGS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def inner_name(name: str) -> str:
    """The name without its compression: `train.conll.gz` → `train.conll`."""
    return name[:-3] if name.lower().endswith(tuple(_BY_SUFFIX)) else name


def text_files_in(folder: Path) -> list[Path]:
    """The .txt files of a folder, some of them perhaps compressed."""
    files = sorted(path for path in folder.iterdir() if inner_name(path.name).endswith(".txt"))
    if not files:
        raise InputError("the folder has no .txt files.", file=folder)
    return files


class Source:
    """A file, a folder or standard input. It is opened when its text is asked for, as a whole or in parts of lines."""

    first_line = 1

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.is_stdin = str(path) == "-"
        self.name = "<stdin>" if self.is_stdin else str(path)  # as messages call it

    @property
    def is_plain_file(self) -> bool:
        """Whether it can be read where it stands: no stream, no folder, not compressed by its name."""
        return not self.is_stdin and self.path.is_file() and self.path.suffix.lower() not in _BY_SUFFIX

    @cached_property
    def data(self) -> bytes:
        """The bytes, decompressed."""
        with self._stored() as stored:
            raw = stored.read()
        compression = self._compression(raw)
        if compression is None:
            return raw
        most = max(_SMALL, _GROWTH * len(raw))
        with self._reporting_damage():
            unpacked = decompressing(io.BytesIO(raw), compression).read(most + 1)
        if len(unpacked) > most:
            problem = f"the file of {len(raw):,} bytes unpacks to more than {most:,}, as no corpus does."
            raise InputError(f"{problem} If it is one, unpack it yourself and name the plain file.", file=self.name)
        return unpacked

    def parts(self) -> Iterator[Source]:
        """The file in parts of whole lines, one after the other."""
        with self._stored() as stored:
            compression = self._compression(stored.peek(8)[:8])
            file = stored if compression is None else decompressing(stored, compression)
            line = 1
            while data := self._whole_lines(file, line):
                yield self.part(data, line)
                line += data.count(b"\n")

    def part(self, data: bytes, first_line: int = 1) -> Source:
        """A part of the same file."""
        part = Source("-" if self.is_stdin else self.path)
        part.name, part.data, part.first_line = self.name, data, first_line
        return part

    def _whole_lines(self, file: IO[bytes], line: int) -> bytes:
        with self._reporting_damage():
            data = file.read(_PART)
            if not data or data.endswith(b"\n"):
                return data
            rest = file.readline(_LONGEST_LINE)
        if len(rest) == _LONGEST_LINE and not rest.endswith(b"\n"):
            longest = f"{_LONGEST_LINE >> 20} MiB"
            problem = f"a line of more than {longest}. Break it into lines; only \\n ends one in so large a file."
            raise InputError(problem, file=self.name, line=line + data.count(b"\n"))
        return data + rest

    @contextmanager
    def _stored(self) -> Iterator[io.BufferedReader[Any]]:
        """The file before decompression, or standard input."""
        if self.is_stdin:
            reader = io.BufferedReader(cast(Any, sys.stdin.buffer))
            try:
                yield reader
            finally:
                with suppress(ValueError):  # somebody has closed it
                    reader.detach()  # it is not ours to close
            return
        try:
            stored = self.path.open("rb")
        except FileNotFoundError as error:
            raise InputError(f"there is no such file.{self._close_names()}", file=self.name) from error
        except IsADirectoryError as error:
            raise InputError("this is a folder; a file was expected.", file=self.name) from error
        except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
            raise InputError(f"the file cannot be opened ({error}).", file=self.name) from error
        with stored:
            yield stored

    def _compression(self, start: bytes) -> Compression | None:
        compression = compression_of(start, "" if self.is_stdin else self.path.suffix.lower())
        other = next((name for mark, name in _UNREAD.items() if start.startswith(mark)), None)
        if compression is None and other:
            raise InputError(f"the file is compressed with {other}; unpack it, or use gzip or xz.", file=self.name)
        return compression

    @contextmanager
    def _reporting_damage(self) -> Iterator[None]:
        try:
            yield
        except DAMAGE as error:
            problem = f"the compressed file is cut short or damaged ({error}). Copy or download it again."
            raise InputError(problem, file=self.name) from error

    def _close_names(self) -> str:
        folder = self.path.parent
        if not folder.is_dir():
            return f" There is no folder {str(folder)!r} either."
        return did_you_mean(self.path.name, [entry.name for entry in folder.iterdir()])

    @cached_property
    def text(self) -> str:
        """The whole as text. Bytes that are not UTF-8 become lone surrogates; `faults` has their lines."""
        text = self.data.decode("utf-8", "surrogateescape")
        if self.first_line > 1:
            return text
        if encoding := next((name for mark, name in _OTHER_ENCODINGS.items() if self.data.startswith(mark)), None):
            problem = f"the file is {encoding}; save it as UTF-8 (iconv -f {encoding} -t UTF-8 OLD > NEW)."
            raise InputError(problem, file=self.name, line=1)
        return text.removeprefix("\ufeff")

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends. Only \\n, \\r\\n and, in a file that has no \\n, \\r end a line.

        `str.splitlines` would also cut at form feeds, NEL and U+2028, which occur inside words of real corpora.
        """
        if "\r" not in self.text:
            lines = self.text.split("\n")
        elif "\n" not in self.text and self.first_line == 1:
            lines = self.text.split("\r")
        else:
            lines = [line[:-1] if line.endswith("\r") else line for line in self.text.split("\n")]
        if lines and not lines[-1]:
            lines.pop()
        return lines

    @cached_property
    def faults(self) -> dict[int, InputError]:
        """Lines that cannot be text: bytes that are not UTF-8, or NUL characters. Line number → what is wrong."""
        faults: dict[int, InputError] = {}
        for number, line in enumerate(self.lines if _NO_TEXT.search(self.text) else (), start=self.first_line):
            if match := _ESCAPED_BYTE.search(line):
                byte = f"byte 0x{ord(match.group()) - 0xDC00:02x}"
                problem = f"{byte} is not UTF-8; save the file as UTF-8 (iconv -f LATIN1 -t UTF-8 OLD > NEW)."
                text = line.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
                faults[number] = InputError(problem, file=self.name, line=number, text=text)
            elif "\0" in line:
                problem = "a NUL character; this is not plain text, or it is UTF-16 without its mark."
                faults[number] = InputError(problem, file=self.name, line=number, text=line)
        return faults

    def require_text(self, line: int) -> None:
        """Refuse a line that cannot be text."""
        if line in self.faults:
            raise self.faults[line]

    def checked_lines(self, log: ReadingLog) -> list[str]:
        """The lines; the first bad one is an error unless bad ones are skipped (a reader then calls `require_text`)."""
        if self.faults and not log.options.skip_bad:
            raise next(iter(self.faults.values()))
        return self.lines


def check_characters(text: str) -> None:
    """JSON can spell characters that no text file can hold and no tokenizer takes."""
    if "\0" in text:
        raise InputError("a NUL character in the text. Remove it where the text comes from.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"U+{ord(text[error.start]):04X}"
        problem = f"half of a surrogate pair ({half}) at character {error.start} of the text; it is no character."
        raise InputError(f"{problem} An emoji was cut in two where the text comes from; repair it there.") from None


def chosen_column(wanted: int | str, width: int, option: str, file: str, header: Sequence[str] = ()) -> int:
    """The number of the column that the user names or numbers, from 0 or from -1 backwards."""
    if isinstance(wanted, str) and wanted in header:
        return header.index(wanted)
    try:
        index = int(wanted)
    except ValueError:
        known = "Columns of this format have no names; give a number, from 0 or from -1 backwards."
        if header:
            known = f"There are {', '.join(map(repr, header))}.{did_you_mean(str(wanted), header)}"
        problem = f"{argument(option, wanted)}: there is no such column. {known}"
        raise InputError(problem, file=file, line=1 if header else None) from None
    if not -width <= index < width:
        has = "1 column" if width == 1 else f"{width} columns"
        problem = f"{argument(option, index)}, but there are {has} (numbered from 0)."
        raise InputError(problem, file=file, line=1 if header else None)
    return index % width
