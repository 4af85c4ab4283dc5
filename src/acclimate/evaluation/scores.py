"""Score a predicted corpus against the gold one: every figure that people ask for, each under one clear name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.data.labels import Kind
from acclimate.evaluation.confusion import Confusion, confuse
from acclimate.evaluation.lengths import ByLength, split_by_length
from acclimate.evaluation.pairs import Pair, Reading, outside_tag, pair_up
from acclimate.evaluation.tally import Average, Tally, percent, ratio
from acclimate.evaluation.unseen import Unseen, Vocabulary, split_by_seen

SPAN_SCORERS: dict[Reading, str] = {
    "lenient": "acclimate span F1, lenient reading (= conlleval, seqeval default)",
    "strict": "acclimate span F1, strict reading (= seqeval mode='strict', scheme=IOB2)",
}
PLAIN_SCORER = "acclimate token accuracy, plain tags (span figures are micro averages over words)"


@dataclass(frozen=True, slots=True)
class TokenScores:
    """Words whose tag is not O, prefix kept (`B-PER` for `I-PER` is wrong), and accuracy over all words, O too."""

    tally: Tally
    accuracy: float

    @property
    def precision(self) -> float:
        return self.tally.precision

    @property
    def recall(self) -> float:
        return self.tally.recall

    @property
    def f1(self) -> float:
        return self.tally.f1

    def as_dict(self) -> dict[str, Any]:
        return {**self.tally.as_dict(), "accuracy": self.accuracy}


@dataclass(frozen=True, slots=True)
class Scores:
    """Everything that was counted. All figures lie between 0 and 1; what has no denominator is 0.0, never NaN.

    So they do wherever a program reads them: in Python, and in JSON and CSV. What a person reads is in percent: tables
    that are printed (`print(scores)`), Markdown and HTML.

    For plain tags each word is a span of its own: `span` and `token` are then the micro figures over words, which all
    equal accuracy, and `typeless` is None because borders cannot be wrong.
    """

    span: Tally
    macro: Average  # over the labels that occur in gold or prediction
    token: TokenScores
    exact_match: float  # share of gold spans found with both borders and label: the recall of `span`
    sentence_accuracy: float  # share of sentences whose spans are all found, and no other
    by_label: Mapping[str, Tally]
    typeless: Tally | None  # only borders count; neighbours stay apart, since spans are read before labels are dropped
    unseen: Unseen | None  # None when it was not said what training had
    by_length: ByLength
    confusion: Confusion
    sentences: int
    words: int
    scorer: str  # which F1 is this?

    def __repr__(self) -> str:
        figures = f"F1 {percent(self.span.f1)} %, precision {percent(self.span.precision)} %"
        return f"Scores({figures}, recall {percent(self.span.recall)} % on {self.sentences:,} sentences)"

    def __str__(self) -> str:
        from acclimate.evaluation.table import render  # which knows the scores

        return render(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types, in the order in which people read them."""
        return {
            "scorer": self.scorer,
            "sentences": self.sentences,
            "words": self.words,
            "span": self.span.as_dict(),
            "macro": self.macro.as_dict(),
            "token": self.token.as_dict(),
            "exact_match": self.exact_match,
            "sentence_accuracy": self.sentence_accuracy,
            "by_label": {label: tally.as_dict() for label, tally in self.by_label.items()},
            "typeless": None if self.typeless is None else self.typeless.as_dict(),
            "unseen": None if self.unseen is None else self.unseen.as_dict(),
            "by_length": self.by_length.as_dict(),
            "confusion": self.confusion.as_dict(),
        }


def score(
    gold: Corpus, predicted: Corpus, *, seen: Corpus | Vocabulary | None = None, reading: Reading = "lenient"
) -> Scores:
    """Compare a prediction with the gold tags of the same text.

    `seen` is the training corpus, or its `Vocabulary` (where lower-casing is chosen): with it, words and mentions that
    training had are scored apart from those it had not. `reading` says what a span is where tags break IOB2.
    """
    pairs = pair_up(gold, predicted, reading)
    plain, outside = gold.kind == "plain", outside_tag(gold.kind)
    by_label = tally_by_label(pairs)
    span = sum(by_label.values(), Tally())
    vocabulary = Vocabulary.of(seen) if isinstance(seen, Corpus) else seen
    return Scores(
        span=span,
        macro=Average.of(by_label.values()),
        token=score_tokens(pairs, outside),
        exact_match=span.recall,
        sentence_accuracy=ratio(sum(pair.gold == pair.predicted for pair in pairs), len(pairs)),
        by_label=by_label,
        typeless=None if plain else sum(map(tally_borders, pairs), Tally()),
        unseen=None if vocabulary is None else split_by_seen(pairs, vocabulary, outside, plain=plain),
        by_length=split_by_length(pairs),
        confusion=confuse(pairs),
        sentences=len(pairs),
        words=sum(len(pair.words) for pair in pairs),
        scorer=name_scorer(gold.kind, reading),
    )


def name_scorer(kind: Kind, reading: Reading) -> str:
    """Which F1 is this? Printed beside every figure, so that nobody has to ask."""
    return PLAIN_SCORER if kind == "plain" else SPAN_SCORERS[reading]


def tally_by_label(pairs: Iterable[Pair]) -> dict[str, Tally]:
    """Spans counted apart by label. A right span has one label, so these add up to the counts of all spans."""
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for pair in pairs:
        gold.update(span.label for span in pair.gold)
        predicted.update(span.label for span in pair.predicted)
        correct.update(span.label for span in set(pair.gold) & set(pair.predicted))
    return {label: Tally(gold[label], predicted[label], correct[label]) for label in sorted(gold | predicted)}


def tally_borders(pair: Pair) -> Tally:
    """Spans of one sentence when only their borders count."""
    gold, predicted = ([(span.start, span.end) for span in spans] for spans in (pair.gold, pair.predicted))
    return Tally.of(gold, predicted)


def tally_tokens(pair: Pair, outside: str | None) -> Tally:
    """Words of one sentence whose tag is not O. The reading plays no part: tags are compared as they stand."""
    return Tally(
        sum(tag != outside for tag in pair.gold_tags),
        sum(tag != outside for tag in pair.predicted_tags),
        sum(right == guess != outside for right, guess in zip(pair.gold_tags, pair.predicted_tags, strict=True)),
    )


def score_tokens(pairs: Sequence[Pair], outside: str | None) -> TokenScores:
    """Word by word."""
    # no tag is None, so the tally without an outside tag counts every word
    every_word = sum((tally_tokens(pair, None) for pair in pairs), Tally())
    return TokenScores(sum((tally_tokens(pair, outside) for pair in pairs), Tally()), every_word.recall)
