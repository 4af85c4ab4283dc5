"""What an annotator is, and what it finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from acclimate.data.corpus import Sentence


@dataclass(frozen=True, slots=True)
class Finding:
    """The words `start` to `end` (exclusive) are a name of a concept of these types."""

    start: int
    end: int
    types: tuple[str, ...]
    name: str  # as the dictionary spells it

    def __len__(self) -> int:
        return self.end - self.start


class Annotator(Protocol):
    """Whatever finds concepts in sentences. Findings may overlap; the labeller chooses among them."""

    def annotate(self, sentences: Sequence[Sentence]) -> Iterator[Sequence[Finding]]:
        """The findings of each sentence, in the sentences' order. Tags are not there to be looked at."""
        ...
