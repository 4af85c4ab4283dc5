"""A prediction beside the gold: which span answers which, and the counts from which precision, recall and F1 follow.

A *reading* says which tags make a span when they break IOB2. `lenient` is how conlleval and seqeval's default read:
`I-PER` without a beginning begins a span. `strict` is seqeval's mode="strict" with scheme=IOB2: only `B-` begins one,
and what does not begin is no span. On well-formed tags the two agree. Plain tags (POS) are read as spans of one word,
so that the rest of the evaluation need not distinguish them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from acclimate.data.corpus import Corpus, Kind, Sentence, kind_of_tags
from acclimate.data.problems import InputError
from acclimate.data.schemes import (
    ANY_LABEL,
    OUTSIDE,
    Span,
    has_open_tags,
    hidden_labels,
    spans_from_tags,
    split_tag,
)


def ratio(part: float, whole: float) -> float:
    """Part of the whole, and 0.0 when there is no whole, as in conlleval and seqeval (zero_division=0): never NaN."""
    return part / whole if whole else 0.0


def percent(share: float) -> str:
    """As people read it: two digits behind the point."""
    return f"{100 * share:.2f}"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many there were, how many were predicted, how many of these are right. Tallies add up over sentences."""

    gold: int = 0
    predicted: int = 0
    correct: int = 0

    @classmethod
    def of(cls, gold: Collection[Hashable], predicted: Collection[Hashable]) -> Tally:
        """Count two collections without repeats (spans of one sentence, say): right is what both hold."""
        return cls(len(gold), len(predicted), len(set(gold) & set(predicted)))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.gold + other.gold, self.predicted + other.predicted, self.correct + other.correct)

    @property
    def precision(self) -> float:
        return ratio(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        return ratio(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, straight from the counts: no product of two roundings."""
        return ratio(2 * self.correct, self.gold + self.predicted)

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to find and nothing was found: 0.0 would then look like a failure."""
        return not self.gold and not self.predicted

    def as_dict(self) -> dict[str, Any]:
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "gold": self.gold,
            "predicted": self.predicted,
            "correct": self.correct,
        }


@dataclass(frozen=True, slots=True)
class Average:
    """Precision, recall and F1, each averaged over labels. A rare label weighs as much as a frequent one."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, tallies: Collection[Tally]) -> Average:
        """F1 is the mean of the labels' F1 (as in seqeval and scikit-learn), not the F1 of the mean P and R."""
        return cls(*(mean(getattr(tally, name) for tally in tallies) for name in ("precision", "recall", "f1")))


def mean(values: Iterable[float]) -> float:
    """The mean, and 0.0 of nothing."""
    listed = list(values)
    return ratio(sum(listed), len(listed))


def stored_f1(change: Mapping[str, Any] | None, when: str) -> float | None:
    """F1 of spans before or after, as a report keeps it (accuracy for plain tags); None without a test, and where
    nothing was to be found in it."""
    span = {} if change is None else change[when]["span"]
    return float(span["f1"]) if span.get("gold") else None


Reading = Literal["lenient", "strict"]
Tags = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """One sentence twice: what its tags and spans are, and what they were predicted to be."""

    words: tuple[str, ...]
    gold_tags: tuple[str, ...]
    predicted_tags: tuple[str, ...]
    gold: tuple[Span, ...]
    predicted: tuple[Span, ...]


def pair_up(gold: Corpus, predicted: Corpus, reading: Reading = "lenient") -> list[Pair]:
    """Both corpora sentence by sentence, or an `InputError` that says where they part."""
    if reading not in get_args(Reading):
        raise InputError(f"reading {reading!r} is not known: expected one of {', '.join(get_args(Reading))}.")
    check_same_text(gold, predicted)
    predicted_tags = tags_of(predicted, "prediction")
    require_gold(gold)
    known = gold if gold.annotates is None else gold.open_to(predicted.labels)
    gold_tags = tags_of(known, "gold")
    if gold.kind == "spans":
        gold_tags, predicted_tags = closed(gold_tags, predicted_tags)
    if gold and gold.kind != predicted.kind:
        raise InputError(
            f"the gold corpus has {kind_of_tags(gold.kind)} and the prediction {kind_of_tags(predicted.kind)}; "
            "they cannot be compared. Predict with a tagger of the same task, or read both files with the same kind=..."
        )
    gold_spans = read_spans(gold_tags, gold.kind, reading, "gold")
    predicted_spans = read_spans(predicted_tags, gold.kind, reading, "prediction")
    words = [sentence.words for sentence in gold]
    return list(map(Pair, words, gold_tags, predicted_tags, gold_spans, predicted_spans))


def closed(gold: list[Tags], predicted: list[Tags]) -> tuple[list[Tags], list[Tags]]:
    """Gold and predicted tags of every sentence without open words. A span of a label that nobody looked for there
    counts neither as right nor as wrong; one that covers a word whose tag is known, of a gold span or O, is wrong."""
    both = [_closed(*pair) if has_open_tags(pair[0]) else pair for pair in zip(gold, predicted, strict=True)]
    return [right for right, _ in both], [guess for _, guess in both]


def _closed(gold: Tags, predicted: Tags) -> tuple[Tags, Tags]:
    hidden = [hidden_labels(tag) for tag in gold]
    tags = list(predicted)
    for span in spans_from_tags(predicted):
        words = range(span.start, span.end)
        if all(span.label in hidden[word] or ANY_LABEL in hidden[word] for word in words):
            tags[span.start : span.end] = [OUTSIDE] * len(words)
    return tuple(OUTSIDE if labels else tag for tag, labels in zip(gold, hidden, strict=True)), tuple(tags)


def judged_spans(gold: Sentence, predicted: Sentence) -> tuple[list[Span], list[Span]]:
    """The spans of one sentence and of its prediction that can be compared."""
    ((right,), (guess,)) = closed([gold.tags or ()], [predicted.tags or ()])
    return spans_from_tags(right), spans_from_tags(guess)


def remark_on_open_words(gold: Corpus) -> str | None:
    """What a score on this corpus does not tell, if there is anything."""
    if not gold.open_words:
        return None
    names = {ANY_LABEL: "any label"}
    hidden = ", ".join(f"{names.get(label, label)} ({number:,})" for label, number in gold.open_words.most_common())
    return (
        f"{gold.name}: of {gold.word_count:,} words some may hide a label that nobody looked for: {hidden}. What a "
        "tagger finds there counts neither as right nor as wrong."
    )


def read_spans(tags: list[tuple[str, ...]], kind: Kind, reading: Reading, role: str) -> list[tuple[Span, ...]]:
    """The spans of every sentence. A tag that fits no scheme is reported with the number of its sentence."""
    spans = []
    for number, row in enumerate(tags, start=1):
        try:
            spans.append(spans_under(row, kind, reading))
        except InputError as problem:
            raise InputError(f"sentence {number} of the {role}: {problem.problem}") from problem
    return spans


def spans_under(tags: tuple[str, ...], kind: Kind, reading: Reading) -> tuple[Span, ...]:
    """The spans of one sentence under a reading."""
    if kind == "plain":
        return tuple(Span(place, place + 1, tag) for place, tag in enumerate(tags))
    spans = spans_from_tags(tags)
    if reading == "strict":
        # a span that begins with B reaches as far in both readings, so strict is lenient less what has no beginning
        spans = [span for span in spans if split_tag(tags[span.start])[0] in "BS"]
    return tuple(spans)


def outside_tag(kind: Kind) -> str | None:
    """The tag that marks no entity. Plain tags have none: every word of a POS corpus counts."""
    return OUTSIDE if kind == "spans" else None


def tags_of(corpus: Corpus, role: str) -> list[tuple[str, ...]]:
    """The tags of every sentence; scoring text that has none would give zeros that look like a bad tagger."""
    tags = []
    for number, sentence in enumerate(corpus, start=1):
        if sentence.tags is None:
            raise InputError(
                f"sentence {number} of the {role} ({corpus.name!r}) carries no tags, so there is nothing to compare. "
                "Score labelled text against a tagged prediction of it (corpus.labelled() keeps the tagged sentences).",
                file=sentence.place.file,
                line=sentence.place.line,
            )
        tags.append(sentence.tags)
    return tags


def require_gold(corpus: Corpus) -> None:
    """Refuse guesses as what is to be scored against."""
    sentence = next((sentence for sentence in corpus if sentence.probabilities is not None), None)
    if sentence is not None:
        raise InputError(
            f"{corpus.name} holds guesses with scores, and what agrees with a guess need not be right. Score against "
            "sentences that a person has tagged.",
            file=sentence.place.file,
            line=sentence.place.line,
        )


def check_same_text(gold: Corpus, predicted: Corpus) -> None:
    """Refuse a prediction of another text: shifted by one sentence, every figure would still look like a figure."""
    for number, (right, guess) in enumerate(zip(gold, predicted, strict=False), start=1):
        if right.words != guess.words:
            raise InputError(
                f"sentence {number}: {first_difference(right, guess)}. "
                "Score a prediction against the very text that it was made for.",
                file=guess.place.file,
                line=guess.place.line,
            )
    if len(gold) != len(predicted):
        raise InputError(
            f"the gold corpus {gold.name!r} has {len(gold)} sentences and the prediction {predicted.name!r} "
            f"{len(predicted)}; they agree up to sentence {min(len(gold), len(predicted))}. Predict the whole text."
        )


def first_difference(right: Sentence, guess: Sentence) -> str:
    """The first word that two sentences do not share, in words."""
    for number, (word, other) in enumerate(zip(right.words, guess.words, strict=False), start=1):
        if word != other:
            return f"word {number} is {word!r} in the gold corpus and {other!r} in the prediction"
    common = min(len(right), len(guess))
    last, names = right.words[common - 1], ["gold corpus", "prediction"]
    if len(right) > len(guess):
        names.reverse()
    longer = max(right, guess, key=len)
    return f"the {names[0]} ends after {last!r}, the {names[1]} goes on with {longer.words[common]!r}"


Match = tuple[Span | None, Span | None]


def match_spans(gold: Sequence[Span], predicted: Sequence[Span]) -> list[Match]:
    """One partner at most for every span, in the order of the text; None stands beside what has no partner.

    Equal borders find each other first, then spans that overlap: those of the same label before others, the longer
    overlap before the shorter, the earlier before the later. So `PER` cut into `PER LOC` is one wrong border and one
    spurious span.
    """
    at_borders = {(guess.start, guess.end): guess for guess in predicted}
    partner = {right: at_borders[borders] for right in gold if (borders := (right.start, right.end)) in at_borders}
    taken = set(partner.values())
    # only what is left is compared span by span: in a long sentence of plain tags that is nothing
    lost = [right for right in gold if right not in partner]
    guesses = [guess for guess in predicted if guess not in taken]
    for *_, right, guess in sorted(
        (right.label != guess.label, -overlap(right, guess), right, guess)
        for right in lost
        for guess in guesses
        if overlap(right, guess)
    ):
        if right not in partner and guess not in taken:
            partner[right] = guess
            taken.add(guess)
    matches: list[Match] = [(right, partner.get(right)) for right in gold]
    matches += [(None, guess) for guess in predicted if guess not in taken]
    return sorted(matches, key=lambda match: min((span.start, span.end) for span in match if span is not None))


def same_borders(one: Span, other: Span) -> bool:
    return (one.start, one.end) == (other.start, other.end)


def overlap(one: Span, other: Span) -> int:
    """How many words two spans share."""
    return max(0, min(one.end, other.end) - max(one.start, other.start))
