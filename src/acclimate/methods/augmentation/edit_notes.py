"""A few of the edited sentences that a stage learns from, for the record of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.data.corpus import Sentence
from acclimate.methods.word_edits import CHANGES, edits_between, noted_row, spread


@dataclass(frozen=True)
class Edited:
    """Tells the same few sentences whenever it is asked: they are made before the stage begins, and stay."""

    by: str  # what edited them
    pairs: Sequence[tuple[Sentence, Sentence]]  # as they were, and as they are learnt
    kind: str = CHANGES

    def __call__(self, learner: Any) -> dict[str, Any]:
        rows = [noted_row(old.words, edits_between(old.words, new.words)) for old, new in spread(self.pairs)]
        return {"by": self.by, "rows": rows}
