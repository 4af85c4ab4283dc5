"""Open text files, plain or compressed, by name."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path
from typing import TextIO, cast


def open_text(path: str | Path) -> TextIO:
    """A text file as UTF-8, whatever its compression. Lines end at \\n only: U+2028 and its kin are characters."""
    suffix = Path(path).suffix
    opened = gzip.open if suffix == ".gz" else lzma.open if suffix == ".xz" else open
    return cast(TextIO, opened(path, "rt", encoding="utf-8", newline="\n"))
