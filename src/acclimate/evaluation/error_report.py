"""What a tagger does wrong, summed up: what it invents, where borders slip, and how long the entities are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from acclimate.data.corpus import Corpus
from acclimate.data.schemes import Span
from acclimate.evaluation.entity_lengths import ENTITY_BUCKETS, entity_bucket, tally_by_entity_length
from acclimate.evaluation.errors import Mistake, MistakeKind, count_errors, mistakes_of
from acclimate.evaluation.matching import overlap, same_borders
from acclimate.evaluation.pairs import Pair, Reading, pair_up
from acclimate.evaluation.table import count
from acclimate.evaluation.tally import Tally, percent
from acclimate.evaluation.unseen import surface

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

    def as_dict(self) -> dict[str, Any]:
        return {"text": self.text, "label": self.label, "times": self.times, "gold_elsewhere": self.gold_elsewhere}


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
        return sum(found.times for found in self.over_labelled)

    def as_dict(self) -> dict[str, Any]:
        return {
            "kinds": dict(self.kinds),
            "borders": dict(self.borders),
            "over_labelled": {
                "times": self.times_over_labelled,
                "strings": [found.as_dict() for found in self.over_labelled],
            },
            "by_entity_length": {
                bucket: {**tally.as_dict(), "mistakes": dict(self.kinds_by_length[bucket])}
                for bucket, tally in self.by_entity_length.items()
            },
            "mistakes": [mistake.as_dict() for mistake in self.mistakes],
        }

    def render(self, most: int = 5) -> str:
        """A few lines for people."""
        lengths = {bucket: tally for bucket, tally in self.by_entity_length.items() if tally.gold + tally.predicted}
        elsewhere = sum(found.times for found in self.over_labelled if found.gold_elsewhere)
        lines = [
            f"{count(len(self.mistakes), 'mistake')}: {_listed(self.kinds)}",
            f"borders: {_listed(self.borders)}",
            f"labelled where the gold has nothing: {self.times_over_labelled:,} "
            f"(of these strings the gold labels {elsewhere:,} elsewhere)",
            *(f"  {found.label} {found.text!r} {found.times:,}" for found in self.over_labelled[:most]),
            "F1 by words of the entity: "
            + ", ".join(f"{bucket}: {percent(tally.f1)}" for bucket, tally in lengths.items()),
        ]
        return "\n".join(lines)


def report_errors(gold: Corpus, predicted: Corpus, *, reading: Reading = "lenient") -> ErrorReport:
    """Compare a prediction with the gold tags of the same text, and sum up where they differ."""
    pairs = pair_up(gold, predicted, reading)
    mistakes = tuple(mistake for index, pair in enumerate(pairs) for mistake in mistakes_of(index, pair))
    borders = Counter(
        border_fault(mistake.gold, mistake.predicted)
        for mistake in mistakes
        if mistake.gold is not None and mistake.predicted is not None
        if not same_borders(mistake.gold, mistake.predicted)
    )
    return ErrorReport(
        mistakes=mistakes,
        kinds=count_errors(mistakes),
        borders={fault: borders[fault] for fault in BORDER_FAULTS},
        over_labelled=find_over_labelled(pairs),
        by_entity_length=tally_by_entity_length(pairs),
        kinds_by_length={
            bucket: count_errors(mistake for mistake in mistakes if _bucket(mistake) == bucket)
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
    found = Counter(
        (surface(pair.words, guess), guess.label)
        for pair in pairs
        for guess in pair.predicted
        if not any(overlap(guess, right) for right in pair.gold)
    )
    labelled = Counter(surface(pair.words, right) for pair in pairs for right in pair.gold)
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return tuple(OverLabelled(text, label, times, labelled[text]) for (text, label), times in ranked)


def _bucket(mistake: Mistake) -> str:
    span = mistake.gold or mistake.predicted
    assert span is not None
    return entity_bucket(span)


def _listed(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{name} {times:,}" for name, times in counts.items())
