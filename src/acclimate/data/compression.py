"""Compressed files, .gz and .xz, of one part or of several one after the other: read whole, or said to be damaged.

Python's own reader of .xz takes a damaged second part for rubbish behind the first, and leaves it out in silence.
"""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from typing import IO, Literal, cast

GZIP, XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)  # what reading a damaged file raises
Compression = Literal["gzip", "xz"]

_BY_SUFFIX: dict[str, Compression] = {".gz": "gzip", ".xz": "xz"}
_BLOCK = 1 << 16  # bytes
_PADDING = 4  # zeros that may stand behind a part of an .xz file, or any multiple of so many
_UNREAD = {b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "Zstandard", b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7-zip"}


def compression_of(start: bytes, suffix: str = "") -> Compression | None:
    """How a file is compressed, by its first bytes, or by its name where the bytes say nothing."""
    if start.startswith((GZIP, XZ)):
        return "gzip" if start.startswith(GZIP) else "xz"
    return _BY_SUFFIX.get(suffix) if start else None


def unread_compression(start: bytes) -> str | None:
    """The name of a compression that is not read here."""
    return next((name for mark, name in _UNREAD.items() if start.startswith(mark)), None)


def decompressing(stored: IO[bytes], compression: Compression | None) -> IO[bytes]:
    """The file as it was before it was compressed. Reading it raises one of DAMAGE where it is damaged."""
    if compression == "gzip":
        return cast(IO[bytes], gzip.GzipFile(fileobj=stored))
    return io.BufferedReader(_XzFile(stored), _BLOCK) if compression == "xz" else stored


class _XzFile(io.RawIOBase):
    """The parts of an .xz file, one after the other."""

    def __init__(self, stored: IO[bytes]) -> None:
        self._stored = stored
        self._waiting = b""  # read from the file, and not looked at yet
        self._part: lzma.LZMADecompressor | None = lzma.LZMADecompressor(lzma.FORMAT_XZ)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        unpacked = self._read(len(view))
        view[: len(unpacked)] = unpacked
        return len(unpacked)

    def _read(self, most: int) -> bytes:
        while self._part is not None:
            if self._part.eof:
                self._part = self._next_part(self._part.unused_data)
                continue
            packed = self._packed() if self._part.needs_input else b""
            if self._part.needs_input and not packed:
                raise EOFError("the file ends before its end mark")
            if unpacked := self._part.decompress(packed, most):
                return unpacked
        return b""

    def _packed(self) -> bytes:
        waiting, self._waiting = self._waiting, b""
        return waiting or self._stored.read(_BLOCK)

    def _next_part(self, rest: bytes) -> lzma.LZMADecompressor | None:
        """What stands behind a part: zeros, as many as please, and perhaps another part."""
        zeros = 0
        while not self._waiting and (rest := rest or self._stored.read(_BLOCK)):
            self._waiting = rest.lstrip(b"\0")
            zeros += len(rest) - len(self._waiting)
            rest = b""
        if zeros % _PADDING:
            raise lzma.LZMAError("there are odd bytes behind a part")
        return lzma.LZMADecompressor(lzma.FORMAT_XZ) if self._waiting else None
