"""A guard without labels: it lets a tagger change while it gets steadier, and does not let it drift away."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from statistics import fmean

from acclimate.data.corpus import Corpus
from acclimate.evaluation.counts import Tally
from acclimate.inference.predict import predict
from acclimate.methods.teaching import lower_cased
from acclimate.model.tagger import Tagger
from acclimate.spelling import count


@dataclass(frozen=True)
class Guard:
    """How steady a tagger is: span F1 between its answers on target text without capitals, and the answers of the
    tagger it began as on the text as it is written. A tagger that gets steadier comes nearer to those. On text that has
    no capitals nothing can come nearer than the start, which is then kept.

    0 for a tagger that has drifted: on the text as it is written, too, its answers must agree with the first ones, and
    there all types count alike. Answers that agree need not be right. What the guard sees is a tagger that forgets
    types, or finds names everywhere.
    """

    text: Corpus
    start: Corpus  # the same sentences under the tags of the tagger as it began
    least: float  # so well the answers must agree with those
    is_blind: bool = field(default=False, init=False)
    lowest: float = field(default=0.0, init=False)

    @classmethod
    def of(cls, tagger: Tagger, text: Corpus, least: float) -> Guard:
        return cls(text, predict(tagger, text), least)

    @property
    def name(self) -> str:
        return f"steadiness on target text ({count(len(self.text), 'sentence')})"

    def __call__(self, tagger: Tagger) -> float:
        if agreement(self.start, predict(tagger, self.text), by_type=True) < self.least:
            return 0.0
        return agreement(self.start, predict(tagger, self.text.map(lower_cased)))

    def told(self, score: float) -> str:
        return f"steadiness {100 * score:.2f}" if score else "drifted"


def agreement(one: Corpus, other: Corpus, by_type: bool = False) -> float:
    """Between two answers to the same sentences, from 0 to 1: span F1, over all spans or as the mean over types. For
    plain tags it is the share of words with the same tag. Two answers without any span agree."""
    pairs = list(zip(one, other, strict=True))
    if one.kind == "plain":
        words = [a == b for mine, theirs in pairs for a, b in zip(mine.tags or (), theirs.tags or (), strict=True)]
        return sum(words) / len(words)
    tallies: dict[str, Tally] = defaultdict(Tally)
    for mine, theirs in pairs:
        for label in {span.label for span in (*mine.spans, *theirs.spans)}:
            spans = ([span for span in each.spans if span.label == label] for each in (mine, theirs))
            tallies[label] += Tally.of(*spans)
    if not tallies:
        return 1.0
    return fmean(tally.f1 for tally in tallies.values()) if by_type else sum(tallies.values(), Tally()).f1
