"""How well found spans agree with gold ones, sentence by sentence: exactly and by overlap, with labels and without.

Unlike `scores.score` it needs no whole corpus in memory, so that text can be labelled and judged in one stream.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from acclimate.data.corpus import Sentence
from acclimate.data.schemes import TYPELESS, Span
from acclimate.evaluation.counts import Tally, judged_spans, match_spans
from acclimate.evaluation.table import HEADER, Row, align, row


class Agreement:
    """Tallies that grow. By overlap, a span is right if it shares a word with one of the other side, and each span has
    one partner at most: equal borders first, then the longest overlap."""

    def __init__(self) -> None:
        self.sentences = 0
        self.exact_by_label: dict[str, Tally] = defaultdict(Tally)
        self.overlap_by_label: dict[str, Tally] = defaultdict(Tally)
        self.exact_typeless = Tally()
        self.overlap_typeless = Tally()

    def add(self, true: Sentence, found: Sentence) -> None:
        self.sentences += 1
        gold, predicted = judged_spans(true, found)
        for label in {span.label for span in (*gold, *predicted)}:
            right, guess = ([span for span in spans if span.label == label] for spans in (gold, predicted))
            self.exact_by_label[label] += Tally.of(right, guess)
            self.overlap_by_label[label] += tally_overlap(right, guess)
        right, guess = ([replace(span, label=TYPELESS) for span in spans] for spans in (gold, predicted))
        self.exact_typeless += Tally.of(right, guess)
        self.overlap_typeless += tally_overlap(right, guess)

    @property
    def exact(self) -> Tally:
        return sum(self.exact_by_label.values(), Tally())

    @property
    def overlap(self) -> Tally:
        return sum(self.overlap_by_label.values(), Tally())

    @property
    def strangers(self) -> tuple[list[str], list[str]]:
        """Labels that only gold has, and labels that only what was found has."""
        tallies = sorted(self.exact_by_label.items())
        return (
            [label for label, tally in tallies if not tally.predicted],
            [label for label, tally in tallies if not tally.gold],
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "sentences": self.sentences,
            "exact": self.exact.as_dict(),
            "overlap": self.overlap.as_dict(),
            "exact_typeless": self.exact_typeless.as_dict(),
            "overlap_typeless": self.overlap_typeless.as_dict(),
            "exact_by_label": _as_dicts(self.exact_by_label),
            "overlap_by_label": _as_dicts(self.overlap_by_label),
        }

    def render(self) -> str:
        rows: list[Row] = [HEADER, row("exact spans", self.exact)]
        rows += _rows(self.exact_by_label.items())
        rows += [row("exact borders, any label", self.exact_typeless), row("overlapping spans", self.overlap)]
        rows += _rows(self.overlap_by_label.items())
        rows.append(row("overlapping, any label", self.overlap_typeless))
        return "\n".join(align(rows))


def tally_overlap(gold: Sequence[Span], predicted: Sequence[Span]) -> Tally:
    """Spans of one sentence and label; right is what has a partner."""
    partners = sum(None not in pair for pair in match_spans(gold, predicted))
    return Tally(len(gold), len(predicted), partners)


def _rows(tallies: Iterable[tuple[str, Tally]]) -> list[Row]:
    return [row(f"  {label}", tally) for label, tally in sorted(tallies)]


def _as_dicts(tallies: dict[str, Tally]) -> dict[str, Any]:
    return {label: tally.as_dict() for label, tally in sorted(tallies.items())}
