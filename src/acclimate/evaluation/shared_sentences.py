"""Sentences that two corpora share. A score on sentences that were trained on measures memory."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.data.checks.checks import REAL_SENTENCE, TOLERATED
from acclimate.data.corpus import Corpus
from acclimate.data.subsets import bare_text

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
