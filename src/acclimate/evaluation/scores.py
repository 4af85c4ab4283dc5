"""Scores of a predicted corpus against the gold one: overall, by label, by sentence length, and confusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.evaluation.counts import (
    Average,
    Pair,
    Reading,
    Tally,
    match_spans,
    mean,
    outside_tag,
    pair_up,
    percent,
    ratio,
)
from acclimate.evaluation.seen import Unseen, Vocabulary, split_by_seen


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of gold label × predicted label over spans that answer each other, and of those that nothing answers.

    A span with the right label and a wrong border stands on the diagonal. Each gold span is counted once in `pairs` or
    `missed`, each predicted span once in `pairs` or `spurious`.
    """

    pairs: Mapping[str, Mapping[str, int]]
    missed: Mapping[str, int]
    spurious: Mapping[str, int]


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


@dataclass(frozen=True, slots=True)
class LengthGroup:
    """Some of the sentences, and their spans."""

    sentences: int
    span: Tally

    @property
    def exact_match(self) -> float:
        """Share of the gold spans of these sentences found with both borders and label."""
        return self.span.recall

    def as_dict(self) -> dict[str, Any]:
        return {"sentences": self.sentences, "exact_match": self.exact_match, **self.span.as_dict()}


@dataclass(frozen=True, slots=True)
class ByLength:
    """Every sentence is either short (not longer than the mean) or long."""

    mean_length: float
    short: LengthGroup
    long: LengthGroup

    def as_dict(self) -> dict[str, Any]:
        return {"mean_length": self.mean_length, "short": self.short.as_dict(), "long": self.long.as_dict()}


def split_by_length(pairs: Sequence[Pair]) -> ByLength:
    """The mean is that of the sentences scored, so that both halves are filled whatever the domain."""
    average = mean(len(pair.words) for pair in pairs)
    short = _group(pair for pair in pairs if len(pair.words) <= average)
    long = _group(pair for pair in pairs if len(pair.words) > average)
    return ByLength(average, short, long)


def _group(pairs: Iterable[Pair]) -> LengthGroup:
    tallies = [Tally.of(pair.gold, pair.predicted) for pair in pairs]
    return LengthGroup(len(tallies), sum(tallies, Tally()))


SPAN_SCORERS: dict[Reading, str] = {
    "lenient": "acclimate span F1, lenient reading (= conlleval, seqeval default)",
    "strict": "acclimate span F1, strict reading (= seqeval mode='strict', scheme=IOB2)",
}
PLAIN_SCORER = "acclimate token accuracy, plain tags (span figures are micro averages over words)"


@dataclass(frozen=True, slots=True)
class TokenScores(Tally):
    """Words whose tag is not O, prefix kept (`B-PER` for `I-PER` is wrong), and accuracy over all words, O too. A word
    that may hide a label is right where its tag does not contradict what is known."""

    accuracy: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return {**Tally.as_dict(self), "accuracy": self.accuracy}


@dataclass(frozen=True, slots=True)
class Scores:
    """Everything that was counted. Figures lie between 0 and 1, in JSON and CSV, too; printed tables are in percent.

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
            "macro": asdict(self.macro),
            "token": self.token.as_dict(),
            "exact_match": self.exact_match,
            "sentence_accuracy": self.sentence_accuracy,
            "by_label": {label: tally.as_dict() for label, tally in self.by_label.items()},
            "typeless": None if self.typeless is None else self.typeless.as_dict(),
            "unseen": None if self.unseen is None else self.unseen.as_dict(),
            "by_length": self.by_length.as_dict(),
            "confusion": asdict(self.confusion),
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
        scorer=PLAIN_SCORER if plain else SPAN_SCORERS[reading],
    )


def tally_by_label(pairs: Iterable[Pair]) -> dict[str, Tally]:
    """Spans counted apart by label. A right span has one label, so these add up to the counts of all spans."""
    counts: tuple[Counter[str], Counter[str], Counter[str]] = (Counter(), Counter(), Counter())
    for pair in pairs:
        both = set(pair.gold) & set(pair.predicted)
        for counter, spans in zip(counts, (pair.gold, pair.predicted, both), strict=True):
            counter.update(span.label for span in spans)
    return {label: Tally(*(counter[label] for counter in counts)) for label in sorted(counts[0] | counts[1])}


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
    # no tag is None, so the tally without an outside tag counts every word
    every_word = sum((tally_tokens(pair, None) for pair in pairs), Tally())
    tally = sum((tally_tokens(pair, outside) for pair in pairs), Tally())
    return TokenScores(tally.gold, tally.predicted, tally.correct, every_word.recall)
