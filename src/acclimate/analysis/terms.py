"""Terms, the strings of labelled spans: how sure taggers are of each, and how many of them are collocations.

MSLM, Figure 2: what counts is the probability of the class that a tagger prefers, right or wrong. A tagger may be sure
of the wrong thing, which is why the share of right ones stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from acclimate.data.collocations import Collocations
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError, shorten
from acclimate.evaluation.counts import mean, ratio
from acclimate.evaluation.seen import fold, surface
from acclimate.evaluation.table import Row, align, align_records
from acclimate.spelling import count

if TYPE_CHECKING:
    from acclimate.inference.predict import TermGuess

Term = tuple[str, str]  # its words and its gold label


@dataclass(frozen=True, slots=True)
class Seen:
    """One term to one tagger: means over its mentions."""

    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class TermRow:
    """One term, and what each tagger makes of it."""

    term: str
    label: str
    mentions: int
    taggers: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class TaggerConfidence:
    """One tagger over all mentions. None where there are no such mentions."""

    name: str
    confidence: float
    confidence_if_right: float | None
    confidence_if_wrong: float | None
    right: float


@dataclass(frozen=True, slots=True)
class TermConfidences:
    """Taggers in the order given; the terms with most mentions first."""

    mentions: int
    different_terms: int
    taggers: tuple[TaggerConfidence, ...]
    terms: tuple[TermRow, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def as_rows(self) -> list[dict[str, Any]]:
        """Flat rows, for CSV files."""
        return [
            {"tagger": tagger.name, "term": term.term, "label": term.label, "mentions": term.mentions, **asdict(seen)}
            for term in self.terms
            for tagger, seen in zip(self.taggers, term.taggers, strict=True)
        ]

    def render(self) -> str:
        """The taggers, then the terms."""
        terms: list[dict[str, Any]] = []
        for row in self.terms:
            seen = {tagger.name: own.confidence for tagger, own in zip(self.taggers, row.taggers, strict=True)}
            terms.append({"": f"{shorten(row.term, 40)} ({row.label})", "mentions": row.mentions, **seen})
        head = f"{count(self.mentions, 'mention')} of {count(self.different_terms, 'term')}"
        taggers = align_records([asdict(tagger) for tagger in self.taggers])
        return "\n".join([head, *taggers, "", "confidence by term", *align_records(terms)])


def compare_term_confidences(
    gold: Corpus, guesses: Mapping[str, Sequence[TermGuess]], most: int = 30
) -> TermConfidences:
    """What taggers guess about the spans of a corpus (`guess_terms`), side by side, for its `most` frequent terms."""
    if not guesses or not all(guesses.values()):
        raise InputError(f"{gold.name} has no labelled span, or there is no tagger: there is nothing to be sure of.")
    places: dict[Term, list[tuple[int, int]]] = {}
    for guess in next(iter(guesses.values())):
        term = surface(gold[guess.sentence].words, guess.span), guess.span.label
        places.setdefault(term, []).append((guess.sentence, guess.span.start))
    by_place = [{(guess.sentence, guess.span.start): guess for guess in own} for own in guesses.values()]
    rows = []
    for term in sorted(places, key=lambda term: (-len(places[term]), term))[:most]:
        seen = tuple(_seen([own[place] for place in places[term]]) for own in by_place)
        rows.append(TermRow(*term, len(places[term]), seen))
    taggers = tuple(_overall(name, own) for name, own in guesses.items())
    return TermConfidences(sum(map(len, places.values())), len(places), taggers, tuple(rows))


def _seen(guesses: Sequence[TermGuess]) -> Seen:
    right = [guess.predicted == guess.span.label for guess in guesses]
    return Seen(mean(guess.probability for guess in guesses), mean(right))


def _overall(name: str, guesses: Sequence[TermGuess]) -> TaggerConfidence:
    right = [guess for guess in guesses if guess.predicted == guess.span.label]
    wrong = [guess for guess in guesses if guess.predicted != guess.span.label]
    if_right, if_wrong = (_seen(group).confidence if group else None for group in (right, wrong))
    seen = _seen(guesses)
    return TaggerConfidence(name, seen.confidence, if_right, if_wrong, seen.right)


Words = tuple[str, ...]
_COLUMNS = ("", "collocations", "terms", "mentions", "both", "% of coll.", "% of terms", "% of mentions")


@dataclass(frozen=True, slots=True)
class LengthOverlap:
    """The collocations and the terms of one length; the overall figures count terms of all lengths."""

    words: int | None  # None: overall
    collocations: int
    terms: int  # different ones
    mentions: int  # in the text
    shared: int  # collocations that are terms
    share_of_collocations: float
    share_of_terms: float
    share_of_mentions: float  # mentions whose term is a collocation

    @classmethod
    def of(cls, length: int | None, known: Sequence[Words], mentions: Counter[Words]) -> LengthOverlap:
        shared = [words for words in known if words in mentions]
        return cls(
            words=length,
            collocations=len(known),
            terms=len(mentions),
            mentions=mentions.total(),
            shared=len(shared),
            share_of_collocations=ratio(len(shared), len(known)),
            share_of_terms=ratio(len(shared), len(mentions)),
            share_of_mentions=ratio(sum(mentions[words] for words in shared), mentions.total()),
        )

    @property
    def row(self) -> Row:
        name = "all lengths" if self.words is None else f"{self.words} words"
        counts = (self.collocations, self.terms, self.mentions, self.shared)
        shares = (self.share_of_collocations, self.share_of_terms, self.share_of_mentions)
        return (name, *(f"{number:,}" for number in counts), *(f"{100 * share:.1f}" for share in shares))


@dataclass(frozen=True, slots=True)
class TermOverlap:
    """Overlap by length, and overall. Terms are the strings of labelled spans, whatever their label."""

    corpus: str
    by_length: tuple[LengthOverlap, ...]
    overall: LengthOverlap

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def render(self) -> str:
        table = align([_COLUMNS, *(part.row for part in self.by_length), self.overall.row])
        return "\n".join([f"collocations and the terms of {self.corpus}", *table])


def term_overlap(collocations: Collocations, corpora: Iterable[Corpus]) -> TermOverlap:
    """Compare a vocabulary with the labelled spans of corpora, compared as the vocabulary compares words."""
    corpora = list(corpora)
    mentions: Counter[Words] = Counter()
    for corpus in corpora:
        if corpus.is_labelled and corpus.kind == "plain":
            raise InputError(f"{corpus.name} has plain tags, one per word: they mark no terms.")
        for sentence in corpus:
            words = tuple(fold(word, collocations.lower_case) for word in sentence.words)
            mentions.update(words[span.start : span.end] for span in sentence.spans)
    if not mentions:
        raise InputError("there are no terms to compare with: no sentence has a labelled span.")
    known = list(collocations)
    parts = []
    for length in sorted(set(map(len, known))):
        own = [words for words in known if len(words) == length]
        terms = Counter({term: number for term, number in mentions.items() if len(term) == length})
        parts.append(LengthOverlap.of(length, own, terms))
    names = ", ".join(corpus.name for corpus in corpora)
    return TermOverlap(names, tuple(parts), LengthOverlap.of(None, known, mentions))
