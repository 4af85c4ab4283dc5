"""A guard without labels: it lets a tagger change while it gets steadier, and does not let it drift away."""

from __future__ import annotations

from dataclasses import dataclass, field

from acclimate.data.corpus import Corpus
from acclimate.evaluation.counts import Tally
from acclimate.inference.predict import predict
from acclimate.methods.teaching import lower_cased
from acclimate.model.tagger import Tagger
from acclimate.spelling import count


@dataclass(frozen=True)
class Guard:
    """How steady a tagger is on target text that it does not learn from: how well its answers on the text without
    capitals agree with those on the text as it is written.

    0 for a tagger that has drifted: too few of its answers agree with those of the tagger it began as. Answers that
    agree need not be right. What the guard can see is a tagger that forgets its types, or finds names everywhere.
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
        answers = predict(tagger, self.text)
        if agreement(self.start, answers) < self.least:
            return 0.0
        return agreement(answers, predict(tagger, self.text.map(lower_cased)))

    def told(self, score: float) -> str:
        return f"steadiness {100 * score:.2f}" if score else "drifted"


def agreement(one: Corpus, other: Corpus) -> float:
    """Span F1 between two answers to the same sentences, 1 where neither finds a span. For plain tags, the share of
    words with the same tag."""
    pairs = list(zip(one, other, strict=True))
    if one.kind == "plain":
        words = [a == b for mine, theirs in pairs for a, b in zip(mine.tags or (), theirs.tags or (), strict=True)]
        return sum(words) / len(words)
    found = sum((Tally.of(mine.spans, theirs.spans) for mine, theirs in pairs), Tally())
    return 1.0 if found.is_empty else found.f1
