"""What went wrong, span by span: the stuff of error galleries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from acclimate.data.corpus import Corpus
from acclimate.data.schemes import Span
from acclimate.evaluation.matching import match_spans, same_borders
from acclimate.evaluation.pairs import Pair, Reading, pair_up

MistakeKind = Literal["missed", "spurious", "wrong label", "wrong border", "wrong label and border"]
MISTAKE_KINDS: tuple[MistakeKind, ...] = get_args(MistakeKind)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A gold span that was not found as it is, or a predicted span that answers none (one of the two may be None)."""

    sentence: int  # its index in the corpus, so gold[mistake.sentence] is the sentence
    kind: MistakeKind
    gold: Span | None
    predicted: Span | None
    words: tuple[str, ...]  # of the whole sentence

    def __str__(self) -> str:
        gold, predicted = _show(self.gold, self.words), _show(self.predicted, self.words)
        return f"sentence {self.sentence + 1}, {self.kind}: gold {gold}, predicted {predicted}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence,
            "kind": self.kind,
            "gold": _span_as_dict(self.gold),
            "predicted": _span_as_dict(self.predicted),
            "words": list(self.words),
        }


def find_errors(gold: Corpus, predicted: Corpus, *, reading: Reading = "lenient") -> list[Mistake]:
    """Every mistake, in the order of the text. A plain tag that is wrong is a wrong label of a one-word span."""
    pairs = pair_up(gold, predicted, reading)
    return [mistake for index, pair in enumerate(pairs) for mistake in mistakes_of(index, pair)]


def mistakes_of(index: int, pair: Pair) -> list[Mistake]:
    """The mistakes of one sentence. A predicted span has one partner at most, so none is counted twice."""
    if pair.gold == pair.predicted:
        return []
    matches = match_spans(pair.gold, pair.predicted)
    return [Mistake(index, name_mistake(*match), *match, pair.words) for match in matches if match[0] != match[1]]


def name_mistake(gold: Span | None, predicted: Span | None) -> MistakeKind:
    """The kind of a mistake (the two spans differ, and one of them may be None)."""
    if predicted is None:
        return "missed"
    if gold is None:
        return "spurious"
    if same_borders(gold, predicted):
        return "wrong label"
    return "wrong border" if gold.label == predicted.label else "wrong label and border"


def count_errors(mistakes: Iterable[Mistake]) -> dict[MistakeKind, int]:
    """How many of each kind; kinds that do not occur stand there with 0."""
    counts = Counter(mistake.kind for mistake in mistakes)
    return {kind: counts[kind] for kind in MISTAKE_KINDS}


def _show(span: Span | None, words: tuple[str, ...]) -> str:
    return "nothing" if span is None else f"{span.label} {' '.join(words[span.start : span.end])!r}"


def _span_as_dict(span: Span | None) -> dict[str, Any] | None:
    return None if span is None else {"start": span.start, "end": span.end, "label": span.label}
