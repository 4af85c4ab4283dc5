"""Errors of a tagger, span by span and summed up: invented spans, wrong borders, and scores by entity length."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from acclimate.data.corpus import Corpus
from acclimate.data.schemes import Span
from acclimate.evaluation.counts import Pair, Reading, Tally, match_spans, overlap, pair_up, percent, same_borders
from acclimate.evaluation.seen import surface
from acclimate.spelling import count

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

    @property
    def bucket(self) -> str:
        """By the length of the gold entity, or of the predicted one if there is none."""
        span = self.gold or self.predicted
        assert span is not None
        return entity_bucket(span)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "words": list(self.words)}


def mistakes_of(pairs: Iterable[Pair]) -> list[Mistake]:
    """Every mistake, in the order of the text, and none twice: a predicted span has one partner at most. A plain tag
    that is wrong is a wrong label of a one-word span."""
    return [
        Mistake(index, name_mistake(*match), *match, pair.words)
        for index, pair in enumerate(pairs)
        if pair.gold != pair.predicted
        for match in match_spans(pair.gold, pair.predicted)
        if match[0] != match[1]
    ]


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


# how many words the longest entity of each bucket may have
ENTITY_BUCKETS: dict[str, float] = {"1": 1, "2": 2, "3": 3, "4": 4, "5+": math.inf}


def entity_bucket(span: Span) -> str:
    """The first bucket that a span fits into."""
    return next(name for name, longest in ENTITY_BUCKETS.items() if span.end - span.start <= longest)


def tally_by_entity_length(pairs: Iterable[Pair]) -> dict[str, Tally]:
    """Gold spans are counted by their length and predicted ones by theirs, so that these add up to all spans."""
    tallies = dict.fromkeys(ENTITY_BUCKETS, Tally())
    for pair in pairs:
        for bucket in tallies:
            gold, predicted = (
                [span for span in spans if entity_bucket(span) == bucket] for spans in (pair.gold, pair.predicted)
            )
            tallies[bucket] += Tally.of(gold, predicted)
    return tallies


BorderFault = Literal["too long", "too short", "shifted"]
BORDER_FAULTS: tuple[BorderFault, ...] = get_args(BorderFault)


@dataclass(frozen=True, slots=True)
class OverLabelled:
    """A string that was labelled where the gold has nothing at all.

    Where the gold labels the same string elsewhere, the annotators may have missed it, and not the tagger.
    """

    text: str
    label: str
    times: int
    gold_elsewhere: int


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """Every mistake, and their sums. A span of a wrong label and a wrong border counts among the borders, too."""

    mistakes: tuple[Mistake, ...]
    kinds: Mapping[MistakeKind, int]
    borders: Mapping[BorderFault, int]
    over_labelled: tuple[OverLabelled, ...]  # the commonest first
    by_entity_length: Mapping[str, Tally]
    kinds_by_length: Mapping[str, Mapping[MistakeKind, int]]  # by the gold's length; that of the predicted, if none

    @property
    def times_over_labelled(self) -> int:
        return sum(string.times for string in self.over_labelled)

    def as_dict(self) -> dict[str, Any]:
        return {
            "kinds": dict(self.kinds),
            "borders": dict(self.borders),
            "over_labelled": {"times": self.times_over_labelled, "strings": list(map(asdict, self.over_labelled))},
            "by_entity_length": {
                bucket: {**tally.as_dict(), "mistakes": dict(self.kinds_by_length[bucket])}
                for bucket, tally in self.by_entity_length.items()
            },
            "mistakes": [mistake.as_dict() for mistake in self.mistakes],
        }

    def render(self, most: int = 5) -> str:
        """A few lines for people."""
        kinds, borders = (
            ", ".join(f"{name} {times:,}" for name, times in counts.items()) for counts in (self.kinds, self.borders)
        )
        lengths = [
            f"{bucket}: {percent(tally.f1)}" for bucket, tally in self.by_entity_length.items() if not tally.is_empty
        ]
        elsewhere = sum(string.times for string in self.over_labelled if string.gold_elsewhere)
        lines = [
            f"{count(len(self.mistakes), 'mistake')}: {kinds}",
            f"borders: {borders}",
            f"labelled where the gold has nothing: {self.times_over_labelled:,} "
            f"(of these strings the gold labels {elsewhere:,} elsewhere)",
            *(f"  {string.label} {string.text!r} {string.times:,}" for string in self.over_labelled[:most]),
            f"F1 by words of the entity: {', '.join(lengths)}",
        ]
        return "\n".join(lines)


def report_errors(gold: Corpus, predicted: Corpus, *, reading: Reading = "lenient") -> ErrorReport:
    """Compare a prediction with the gold tags of the same text, and sum up where they differ."""
    pairs = pair_up(gold, predicted, reading)
    mistakes = mistakes_of(pairs)
    borders = Counter(
        border_fault(mistake.gold, mistake.predicted)
        for mistake in mistakes
        if mistake.gold is not None and mistake.predicted is not None
        if not same_borders(mistake.gold, mistake.predicted)
    )
    return ErrorReport(
        mistakes=tuple(mistakes),
        kinds=count_errors(mistakes),
        borders={fault: borders[fault] for fault in BORDER_FAULTS},
        over_labelled=find_over_labelled(pairs),
        by_entity_length=tally_by_entity_length(pairs),
        kinds_by_length={
            bucket: count_errors(mistake for mistake in mistakes if mistake.bucket == bucket)
            for bucket in ENTITY_BUCKETS
        },
    )


def border_fault(gold: Span, predicted: Span) -> BorderFault:
    """How the borders of a predicted span miss those of the gold one (they do)."""
    if predicted.start <= gold.start and predicted.end >= gold.end:
        return "too long"
    if predicted.start >= gold.start and predicted.end <= gold.end:
        return "too short"
    return "shifted"


def find_over_labelled(pairs: Sequence[Pair]) -> tuple[OverLabelled, ...]:
    """Predicted spans that share no word with a gold one. A spurious span beside a wrong border is none of them."""
    counts = Counter(
        (surface(pair.words, guess), guess.label)
        for pair in pairs
        for guess in pair.predicted
        if not any(overlap(guess, right) for right in pair.gold)
    )
    labelled = Counter(surface(pair.words, right) for pair in pairs for right in pair.gold)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(OverLabelled(text, label, times, labelled[text]) for (text, label), times in ranked)
