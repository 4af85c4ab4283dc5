"""What a test shares with what was learnt from: words, mentions and whole sentences.

An unseen *word* is a surface form absent from the training text (as written; lower-cased as an option, which is
the rule of mlm4uda's Table 5). An unseen *mention* is a string that was never labelled in training, under any label.
A score on sentences that were trained on measures memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from acclimate.data.checks import REAL_SENTENCE, TOLERATED
from acclimate.data.corpus import Corpus
from acclimate.data.schemes import Span
from acclimate.data.words import bare_text
from acclimate.evaluation.counts import Pair, Tally

Group = Literal["seen", "unseen"]
GROUPS: tuple[Group, ...] = get_args(Group)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What training showed: its words, and the strings labelled in it (None when that is not known)."""

    words: frozenset[str]
    mentions: frozenset[str] | None = None
    lower_cased: bool = False

    @classmethod
    def of(cls, *training: Corpus, lower_cased: bool = False) -> Vocabulary:
        """Of one corpus or several. Without span tags (raw text, POS) the labelled mentions stay unknown."""
        words = frozenset(fold(word, lower_cased) for corpus in training for word in corpus.vocabulary)
        with_spans = [corpus for corpus in training if corpus.is_labelled and corpus.kind == "spans"]
        mentions = frozenset(
            fold(surface(sentence.words, span), lower_cased)
            for corpus in with_spans
            for sentence in corpus
            for span in sentence.spans
        )
        return cls(words, mentions if with_spans else None, lower_cased)

    def __or__(self, more: Vocabulary) -> Vocabulary:
        """What both have shown."""
        mentions = None if self.mentions is None else self.mentions | (more.mentions or frozenset())
        return Vocabulary(self.words | more.words, mentions, self.lower_cased)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Vocabulary:
        """The other half of `as_dict`."""
        mentions = None if stored["mentions"] is None else frozenset(stored["mentions"])
        return cls(frozenset(stored["words"]), mentions, bool(stored["lower_cased"]))

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types: a model can carry what it was trained on, and be judged later without its corpus."""
        mentions = None if self.mentions is None else sorted(self.mentions)
        return {"words": sorted(self.words), "mentions": mentions, "lower_cased": self.lower_cased}

    def has_word(self, word: str) -> bool:
        return fold(word, self.lower_cased) in self.words

    def has_mention(self, mention: str) -> bool:
        return self.mentions is not None and fold(mention, self.lower_cased) in self.mentions


@dataclass(frozen=True, slots=True)
class Unseen:
    """Token tallies by whether the word, and span tallies by whether the mention, was seen in training.

    A predicted span belongs to the group of its own string, so precision is defined in both groups and the two tallies
    add up to the whole.
    """

    words: Mapping[Group, Tally]
    mentions: Mapping[Group, Tally] | None
    lower_cased: bool

    def as_dict(self) -> dict[str, Any]:
        mentions = self.mentions
        return {
            # accuracy over words whose gold tag is not O is what recall of words is; both names are in use
            "words": {group: {**tally.as_dict(), "accuracy": tally.recall} for group, tally in self.words.items()},
            "mentions": None if mentions is None else {group: tally.as_dict() for group, tally in mentions.items()},
            "lower_cased": self.lower_cased,
        }


def split_by_seen(pairs: Sequence[Pair], vocabulary: Vocabulary, outside: str | None, *, plain: bool) -> Unseen:
    """Scores for what training had and for what it had not. Plain tags have no mentions."""
    words = tally_words(pairs, outside, lambda word: "seen" if vocabulary.has_word(word) else "unseen")
    has_mentions = vocabulary.mentions is not None and not plain
    mentions = tally_mentions(pairs, vocabulary) if has_mentions else None
    return Unseen(words, mentions, vocabulary.lower_cased)


def tally_words(pairs: Iterable[Pair], outside: str | None, group_of: Callable[[str], Group]) -> dict[Group, Tally]:
    """Words with a tag other than O, prefix kept, counted by the group of the word."""
    gold, predicted, correct = Counter[Group](), Counter[Group](), Counter[Group]()
    for pair in pairs:
        for word, right, guess in zip(pair.words, pair.gold_tags, pair.predicted_tags, strict=True):
            if right == outside and guess == outside:
                continue
            group = group_of(word)
            gold[group] += right != outside
            predicted[group] += guess != outside
            correct[group] += right == guess
    return {group: Tally(gold[group], predicted[group], correct[group]) for group in GROUPS}


def tally_mentions(pairs: Iterable[Pair], vocabulary: Vocabulary) -> dict[Group, Tally]:
    """Spans counted by the group of their string."""
    tallies: dict[Group, Tally] = dict.fromkeys(GROUPS, Tally())
    for pair in pairs:
        for group in tallies:
            gold, predicted = (
                [span for span in spans if vocabulary.has_mention(surface(pair.words, span)) == (group == "seen")]
                for spans in (pair.gold, pair.predicted)
            )
            tallies[group] += Tally.of(gold, predicted)
    return tallies


def surface(words: Sequence[str], span: Span) -> str:
    """The string of a mention."""
    return " ".join(words[span.start : span.end])


def fold(text: str, lower_cased: bool) -> str:
    return text.lower() if lower_cased else text


MOST = 0.5  # if a larger share of the test was trained on with its labels, no claim is made on it


@dataclass(frozen=True, slots=True)
class Shared:
    """How many sentences of a corpus also stand in another one, of those that count."""

    sentences: int
    of: int
    least_words: int = 0  # shorter ones do not count: they repeat without harm

    @classmethod
    def count(cls, corpus: Corpus, texts: Set[str]) -> Shared:
        """As the data check counts: by letters and digits, and short sentences apart. Only where most of the corpus is
        short, as queries are, all count."""
        real = [sentence for sentence in corpus if len(sentence) >= REAL_SENTENCE]
        is_short = 2 * len(real) < len(corpus)
        counted = list(corpus) if is_short else real
        count = sum(bare_text(sentence.words) in texts for sentence in counted)
        return cls(count, len(counted), 0 if len(counted) == len(corpus) else REAL_SENTENCE)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any] | None) -> Shared | None:
        """The other half of `as_dict`; None where nothing was written down."""
        return None if stored is None else cls(**stored)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_noteworthy(self) -> bool:
        """Whether the data check would warn."""
        return self.sentences > TOLERATED * self.of

    @property
    def is_most(self) -> bool:
        return self.sentences > MOST * self.of

    def describe(self, what: str) -> str:
        """`3 of 40 target test sentences`."""
        least = f" of {self.least_words} or more words" if self.least_words else ""
        return f"{self.sentences:,} of {self.of:,} {what} sentences{least}"


def texts_of(corpus: Corpus) -> set[str]:
    return {bare_text(sentence.words) for sentence in corpus}


def texts_in(corpus: Corpus, wanted: Set[str]) -> set[str]:
    """Those of the wanted texts that stand in the corpus, which may be large: nothing else of it is kept."""
    return {text for sentence in corpus if (text := bare_text(sentence.words)) in wanted}


@dataclass(frozen=True, slots=True)
class Reservation:
    """Why a change of scores is called neither a gain nor a loss. The `headline` has no full stop."""

    headline: str
    why: str


LEARNT = Reservation(
    "Nothing can be claimed: the target test sentences were learnt from",
    "Test on sentences that are not learnt, or take those of the test out of what is.",
)
UNLEARNT = Reservation(
    "There is nothing to compare with: the baseline has learnt nothing",
    "The baseline gets nothing right on the source: it was trained too briefly to compare with. Train it longer.",
)
PERHAPS_UNLEARNT = Reservation(
    "There is nothing to compare with: the baseline gets nothing right on the target",
    "The baseline gets nothing right on the target, and has no source score that would tell why: it was trained too "
    "briefly, or what it learnt is too little or too far from the target. Train it longer to find out.",
)


def reservation(source_before: float | None, target_before: float | None, learnt: Shared | None) -> Reservation | None:
    """The reason to make no claim, or None.

    source_before, target_before: scores of the baseline. Where the source is scored, it alone decides: a baseline that
        knows the source but gets nothing right on the target is a fair one.
    learnt: how much of the target test was trained on with its labels.
    """
    if learnt is not None and learnt.is_most:
        return LEARNT
    if source_before is not None:
        return UNLEARNT if source_before == 0 else None
    return PERHAPS_UNLEARNT if target_before == 0 else None
