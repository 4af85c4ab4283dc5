"""What the folders of these tests hold: words, labels and file names that try to be HTML."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EVIL_WORD = "<script>alert(1)</script>"
EVIL_LABEL = "<b>&"


@dataclass(frozen=True)
class Folders:
    corpora: list[str]
    run: Path
    comparison: Path
