"""How sure taggers are of the class of each term (MSLM's Figure 2).

A term is the string of labelled spans with one gold label. What counts is the probability of the class that the tagger
prefers, right or wrong: a tagger may be sure of the wrong thing, which is why the share of right ones stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError, shorten
from acclimate.evaluation.table import Row, align, count
from acclimate.evaluation.tally import mean

if TYPE_CHECKING:  # whoever draws need not wait for torch
    from acclimate.inference.confidence import TermGuess

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
            told = ["-" if figure is None else f"{figure:.3f}" for figure in figures]
            table.append((tagger.name, *told, f"{100 * tagger.right:.1f}"))
        lines = [f"{count(self.mentions, 'mention')} of {count(self.different_terms, 'term')}", *align(table)]
        head = ("", "mentions", *(str(number) for number in range(1, len(self.taggers) + 1)))
        rows: list[Row] = [head]
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
        places.setdefault(_term(gold, guess), []).append((guess.sentence, guess.span.start))
    ordered = sorted(places, key=lambda term: (-len(places[term]), term))
    by_place = {name: {(guess.sentence, guess.span.start): guess for guess in found} for name, found in guesses.items()}
    rows = []
    for term in ordered[:most]:
        seen = tuple(_seen([found[place] for place in places[term]]) for found in by_place.values())
        rows.append(TermRow(*term, len(places[term]), seen))
    taggers = tuple(_overall(name, found) for name, found in guesses.items())
    return TermConfidences(sum(map(len, places.values())), len(places), taggers, tuple(rows))


def _term(gold: Corpus, guess: TermGuess) -> Term:
    span = guess.span
    return " ".join(gold[guess.sentence].words[span.start : span.end]), span.label


def _is_right(guess: TermGuess) -> bool:
    return guess.predicted == guess.span.label


def _seen(guesses: Sequence[TermGuess]) -> Seen:
    return Seen(mean(guess.probability for guess in guesses), mean(map(_is_right, guesses)))


def _overall(name: str, guesses: Sequence[TermGuess]) -> TaggerConfidence:
    groups = [[guess.probability for guess in guesses if _is_right(guess) == right] for right in (True, False)]
    right, wrong = (mean(group) if group else None for group in groups)
    seen = _seen(guesses)
    return TaggerConfidence(name, seen.confidence, right, wrong, seen.right)
