"""A few of the sentences with exchanged entities, for the record of the run that learns from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.methods.augmentation.anchor_report import Side, Variant
from acclimate.methods.word_edits import CHANGES, NOTED, WordEdit, noted_row, spread


@dataclass(frozen=True)
class Anchored:
    """Tells the same few sentences whenever it is asked: they are made before the stage begins, and stay."""

    variants: Sequence[Variant]
    kind: str = CHANGES

    def __call__(self, learner: Any) -> dict[str, Any]:
        return {"by": "anchors", "rows": [noted_variant(variant) for variant in self._some()]}

    def _some(self) -> Iterator[Variant]:
        """As many of one domain as of the other, as far as there are so many."""
        target, source = self._of("target"), self._of("source")
        half = NOTED // 2
        yield from spread(target, max(half, NOTED - len(source)))
        yield from spread(source, max(half, NOTED - len(target)))

    def _of(self, side: Side) -> list[Variant]:
        return [variant for variant in self.variants if variant.side == side]


def noted_variant(variant: Variant) -> dict[str, Any]:
    """The original with the entities that gave way, each with the one that took its place."""
    edits = [
        WordEdit(old.start, old.end, variant.sentence.words[new.start : new.end], new.label)
        for old, new in variant.changed
    ]
    return noted_row(variant.original.words, edits, variant.side)
