"""Character spans meet words: which words a marked stretch of text covers, and what to do when it cuts one.

Annotators drag with a mouse: a span may begin or end inside a word of the tokenizer (`New York-based`, or `Acme Corp`
before a full stop). By default the word is split there, so that the span keeps its borders. Nothing happens in silence:
such a span is listed, or stops the reading if that is asked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter

from acclimate.data.corpus import BorderMiss
from acclimate.data.problems import InputError, Place, shorten
from acclimate.data.schemes import Span
from acclimate.data.words import Offsets, trimmed

POLICIES = ("split", "error", "expand", "contract", "drop")
SPLIT, SPLIT_BETWEEN_LETTERS = "the word was split", "the word was split between two letters"
_CHOICES = '"expand" (take in the cut words), "contract" (leave them out) or "drop" (leave out the span)'


@dataclass(frozen=True, slots=True)
class CharacterSpan:
    """The characters `start` to `end` (exclusive) of a text carry `label`."""

    start: int
    end: int
    label: str
    place: Place = field(default=Place(), compare=False)  # where the file says so
    gaps: bool = False  # a discontinuous span, of which only the hull is known here

    def describe(self, text: str) -> str:
        return f"{self.label} {shorten(text[self.start : self.end], 60)!r} ({self.start}:{self.end})"


@dataclass(frozen=True, slots=True)
class Aligned:
    """Spans over words, and those that missed the words' borders."""

    spans: list[Span]
    words: Offsets  # those that were handed in, some of them split
    misses: list[BorderMiss]
    twice: int  # spans that stood twice in the file and were taken once


def align(spans: Sequence[CharacterSpan], offsets: Sequence[tuple[int, int]], text: str, policy: str) -> Aligned:
    """Spans over characters → spans over words. Blanks at a span's ends do not count as a miss."""
    once = sorted(dict.fromkeys(spans), key=lambda span: (span.start, span.end))
    check_overlaps(once, text)
    whole, offsets = list(offsets), split_words_at(once, offsets, text) if policy == "split" else list(offsets)
    starts, ends = [start for start, _ in offsets], [end for _, end in offsets]
    taken: list[Span] = []
    misses: list[BorderMiss] = []
    for span in once:
        # the words that share a character with the span, and those that lie inside it
        touched = range(bisect_right(ends, span.start), bisect_left(starts, span.end))
        inside = range(bisect_left(starts, span.start), bisect_right(ends, span.end))
        if touched == inside and len(touched) and not span.gaps:
            taken.append(Span(touched.start, touched.stop, span.label))
            if len(offsets) > len(whole) and (cuts := _cuts(span, whole)):
                between = any(text[place - 1].isalnum() and text[place].isalnum() for place in cuts)
                misses.append(_listed(span, text, SPLIT_BETWEEN_LETTERS if between else SPLIT))
            continue
        if policy in ("error", "split"):
            raise InputError(_miss(span, [offsets[position] for position in touched], text), line=span.place.line)
        kept = touched if policy == "expand" else inside if policy == "contract" and not span.gaps else range(0)
        if len(kept) and taken and kept.start < taken[-1].end:  # two spans that cut the same word cannot both have it
            kept = range(0)
        if len(kept):
            taken.append(Span(kept.start, kept.stop, span.label))
        outcome = {"expand": "expanded", "contract": "contracted"}[policy] if len(kept) else "dropped"
        misses.append(_listed(span, text, outcome))
    return Aligned(taken, offsets, misses, len(spans) - len(once))


def split_words_at(spans: Sequence[CharacterSpan], words: Sequence[tuple[int, int]], text: str) -> Offsets:
    """The words, each split where a span begins or ends inside it."""
    cuts = sorted({place for span in spans if not span.gaps for place in (span.start, span.end)})
    pieces: Offsets = []
    for start, end in words:
        inside = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
        if not inside:
            pieces.append((start, end))
            continue
        for piece in pairwise((start, *inside, end)):
            first, last = trimmed(text, *piece)  # a format's own word may hold blanks
            if first < last:
                pieces.append((first, last))
    return pieces


def _cuts(span: CharacterSpan, words: Offsets) -> list[int]:
    """Where a span begins or ends inside one of the words, which are in order."""
    found = []
    for place in (span.start, span.end):
        number = bisect_left(words, place, key=itemgetter(1))  # the first word that ends there or later
        if number < len(words) and words[number][0] < place < words[number][1]:
            found.append(place)
    return found


def _listed(span: CharacterSpan, text: str, outcome: str) -> BorderMiss:
    return BorderMiss(span.place, span.start, span.end, span.label, text[span.start : span.end], outcome)


def check_range(span: CharacterSpan, text: str) -> None:
    """A span must lie inside its text, and hold at least one character."""
    if not 0 <= span.start < span.end <= len(text):
        problem = f"span {span.label} ({span.start}:{span.end}) does not fit into its text of {len(text)} characters."
        raise InputError(
            f"{problem} Starts count from 0, and an end is one past the last character.", line=span.place.line
        )


def check_overlaps(spans: Sequence[CharacterSpan], text: str) -> None:
    """One tag per word cannot hold two spans that overlap. `spans` are in order."""
    for before, after in pairwise(spans):
        if after.start < before.end:
            both = f"{before.describe(text)} and {after.describe(text)}"
            problem = f"spans {both} overlap; one tag per word cannot hold both. Remove one, or pass skip_bad=True."
            lines = [span.place.line for span in (before, after) if span.place.line is not None]
            raise InputError(problem, line=max(lines, default=None))


def _miss(span: CharacterSpan, touched: list[tuple[int, int]], text: str) -> str:
    if span.gaps:
        fault = "has gaps, which one tag per word cannot spell"
    elif not touched:
        fault = "covers no word"
    else:
        cut = [text[a:b] for a, b in touched if a < span.start or b > span.end]
        fault = f"misses word borders: it cuts {' and '.join(map(repr, cut))}"
        return f'span {span.describe(text)} {fault}. Mend it, or pass borders="split" (split the word), {_CHOICES}.'
    return f"span {span.describe(text)} {fault}. Mend it, or pass borders={_CHOICES}."
