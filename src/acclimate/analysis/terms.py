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
from acclimate.evaluation.seen import surface
from acclimate.evaluation.table import Row, align
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
        table: list[Row] = [("", "confidence", "if right", "if wrong", "% right")]
        for tagger in self.taggers:
            figures = (tagger.confidence, tagger.confidence_if_right, tagger.confidence_if_wrong)
            cells = ["-" if figure is None else f"{figure:.3f}" for figure in figures]
            table.append((tagger.name, *cells, f"{100 * tagger.right:.1f}"))
        lines = [f"{count(self.mentions, 'mention')} of {count(self.different_terms, 'term')}", *align(table)]
        rows: list[Row] = [("", "mentions", *(str(number) for number in range(1, len(self.taggers) + 1)))]
        for term in self.terms:
            values = [f"{seen.confidence:.2f}" for seen in term.taggers]
            rows.append((f"{shorten(term.term, 40)} ({term.label})", f"{term.mentions:,}", *values))
        return "\n".join([*lines, "", "confidence by term (taggers in the order above)", *align(rows)])


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
    groups: dict[bool, list[float]] = {True: [], False: []}
    for guess in guesses:
        groups[guess.predicted == guess.span.label].append(guess.probability)
    right, wrong = (mean(group) if group else None for group in groups.values())
    seen = _seen(guesses)
    return TaggerConfidence(name, seen.confidence, right, wrong, seen.right)


Words = tuple[str, ...]
_COLUMNS = ("", "collocations", "terms", "mentions", "both", "% of coll.", "% of terms", "% of mentions")
_SHARES = ("share_of_collocations", "share_of_terms", "share_of_mentions")


@dataclass(frozen=True, slots=True)
class LengthOverlap:
    """The collocations and the terms of one length; the overall figures count terms of all lengths."""

    words: int | None  # None: overall
    collocations: int
    terms: int  # different ones
    mentions: int  # in the text
    shared: int  # collocations that are terms
    shared_mentions: int  # mentions of these

    @property
    def share_of_collocations(self) -> float:
        return ratio(self.shared, self.collocations)

    @property
    def share_of_terms(self) -> float:
        return ratio(self.shared, self.terms)

    @property
    def share_of_mentions(self) -> float:
        return ratio(self.shared_mentions, self.mentions)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), **{name: getattr(self, name) for name in _SHARES}}

    def row(self, name: str) -> Row:
        counts = [f"{number:,}" for number in (self.collocations, self.terms, self.mentions, self.shared)]
        shares = [f"{100 * getattr(self, name):.1f}" for name in _SHARES]
        return (name, *counts, *shares)


@dataclass(frozen=True, slots=True)
class TermOverlap:
    """Overlap by length, and overall. Terms are the strings of labelled spans, whatever their label."""

    corpus: str
    lower_case: bool
    by_length: tuple[LengthOverlap, ...]
    overall: LengthOverlap

    def as_dict(self) -> dict[str, Any]:
        by_length = [part.as_dict() for part in self.by_length]
        head = {"corpus": self.corpus, "lower_case": self.lower_case}
        return {**head, "by_length": by_length, "overall": self.overall.as_dict()}

    def render(self) -> str:
        rows = [part.row(f"{part.words} words") for part in self.by_length]
        table = align([_COLUMNS, *rows, self.overall.row("all lengths")])
        return "\n".join([f"collocations and the terms of {self.corpus}", *table])


def term_overlap(collocations: Collocations, corpora: Iterable[Corpus]) -> TermOverlap:
    """Compare a vocabulary with the labelled spans of corpora, compared as the vocabulary compares words."""
    corpora, lower_case = list(corpora), collocations.lower_case
    mentions: Counter[Words] = Counter()
    for corpus in corpora:
        if corpus.is_labelled and corpus.kind == "plain":
            raise InputError(f"{corpus.name} has plain tags, one per word: they mark no terms.")
        for sentence in corpus:
            words = tuple(word.lower() for word in sentence.words) if lower_case else sentence.words
            mentions.update(words[span.start : span.end] for span in sentence.spans)
    if not mentions:
        raise InputError("there are no terms to compare with: no sentence has a labelled span.")
    known = list(collocations)
    parts = []
    for length in sorted(set(map(len, known))):
        own = [words for words in known if len(words) == length]
        terms = Counter({term: number for term, number in mentions.items() if len(term) == length})
        parts.append(_overlap(length, own, terms))
    overall = _overlap(None, known, mentions)
    return TermOverlap(", ".join(corpus.name for corpus in corpora), lower_case, tuple(parts), overall)


def _overlap(length: int | None, known: Sequence[Words], mentions: Counter[Words]) -> LengthOverlap:
    shared = [words for words in known if words in mentions]
    return LengthOverlap(
        words=length,
        collocations=len(known),
        terms=len(mentions),
        mentions=mentions.total(),
        shared=len(shared),
        shared_mentions=sum(mentions[words] for words in shared),
    )
