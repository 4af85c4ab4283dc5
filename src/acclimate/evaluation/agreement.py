"""How well found spans agree with gold ones, sentence by sentence: exactly and by overlap, with labels and without.

Unlike `scores.score` it needs no whole corpus in memory, so that text can be labelled and judged in one stream.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acclimate.data.corpus import Sentence
from acclimate.data.schemes import TYPELESS, Span, has_open_tags, spans_from_tags
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


@dataclass(frozen=True)
class AnnotatorAgreement:
    """How far two annotators agree: F1 of their spans, and Cohen's kappa of their words' tags (None: no chance of any).

    Words that either left open count in neither."""

    sentences: int
    words: int
    spans: Tally
    kappa: float | None

    def as_dict(self) -> dict[str, Any]:
        spans = self.spans.as_dict()
        return {
            "sentences": self.sentences,
            "words": self.words,
            "f1": spans["f1"],
            "kappa": self.kappa,
            "spans": spans,
        }


def annotator_agreement(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> AnnotatorAgreement:
    """Of the tags that both gave the same sentences."""
    tally, both, sentences = Tally(), Counter[tuple[str, str]](), 0
    for one, other in pairs:
        sentences += 1
        places = [place for place, pair in enumerate(zip(one, other, strict=True)) if not has_open_tags(pair)]
        both.update((one[place], other[place]) for place in places)
        decided = set(places)
        spans = [
            [span for span in spans_from_tags(tags) if decided.issuperset(range(span.start, span.end))]
            for tags in (one, other)
        ]
        tally += Tally.of(*spans)
    return AnnotatorAgreement(sentences, both.total(), tally, cohens_kappa(both))


def cohens_kappa(both: Mapping[tuple[str, str], int]) -> float | None:
    """Agreement beyond chance (Cohen 1960) of counted pairs of tags; None where both always gave one and the same."""
    total = sum(both.values())
    mine, theirs = Counter[str](), Counter[str]()
    for (one, other), times in both.items():
        mine[one] += times
        theirs[other] += times
    by_chance = sum(mine[tag] * theirs[tag] for tag in mine)  # times total squared
    if not total or by_chance == total * total:
        return None
    agreed = sum(times for (one, other), times in both.items() if one == other)
    return (agreed * total - by_chance) / (total * total - by_chance)
