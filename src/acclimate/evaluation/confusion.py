"""Which label was taken for which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from acclimate.evaluation.matching import match_spans
from acclimate.evaluation.pairs import Pair


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of gold label × predicted label over spans that answer each other, and of those that nothing answers.

    Only labels are asked here: a span with the right label and a wrong border stands on the diagonal. Each gold span is
    counted once in `pairs` or `missed`, each predicted span once in `pairs` or `spurious`.
    """

    pairs: Mapping[str, Mapping[str, int]]
    missed: Mapping[str, int]
    spurious: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        return {
            "pairs": {label: dict(row) for label, row in self.pairs.items()},
            "missed": dict(self.missed),
            "spurious": dict(self.spurious),
        }


def confuse(pairs: Iterable[Pair]) -> Confusion:
    """Count labels against labels."""
    counts: Counter[tuple[str, str]] = Counter()
    missed: Counter[str] = Counter()
    spurious: Counter[str] = Counter()
    for pair in pairs:
        for right, guess in match_spans(pair.gold, pair.predicted):
            if right is not None and guess is not None:
                counts[right.label, guess.label] += 1
            elif right is not None:
                missed[right.label] += 1
            elif guess is not None:
                spurious[guess.label] += 1
    rows: dict[str, dict[str, int]] = {}
    for (right_label, guessed_label), count in sorted(counts.items()):
        rows.setdefault(right_label, {})[guessed_label] = count
    return Confusion(rows, dict(sorted(missed.items())), dict(sorted(spurious.items())))
