"""Spans over the characters of a text, and how they become spans over words.

A span may begin or end inside a word (`New York-based`). By default the word is split there, and the span is listed.
A sentence ends at a line end, or, with `paragraphs=True`, within a line, but never inside a span.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from operator import attrgetter, itemgetter

from acclimate.data.corpus import BorderMiss
from acclimate.data.problems import InputError, Place, shorten
from acclimate.data.readers.source import RawSentence, ReadingLog, check_characters
from acclimate.data.schemes import Span
from acclimate.data.words import Offsets, find_lines, find_sentences, grouped, trimmed
from acclimate.spelling import argument

SPLIT, SPLIT_BETWEEN_LETTERS = "the word was split", "the word was split between two letters"


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

    def miss(self, text: str, outcome: str) -> BorderMiss:
        return BorderMiss(self.place, self.start, self.end, self.label, text[self.start : self.end], outcome)


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
                misses.append(span.miss(text, SPLIT_BETWEEN_LETTERS if between else SPLIT))
            continue
        if policy in ("error", "split"):
            raise InputError(_miss(span, [offsets[position] for position in touched], text), line=span.place.line)
        # two spans that cut the same word cannot both have it
        is_free = len(touched) > 0 and not (taken and touched.start < taken[-1].end)
        if policy == "expand" and is_free:
            taken.append(Span(touched.start, touched.stop, span.label))
        misses.append(span.miss(text, "expanded" if policy == "expand" and is_free else "dropped"))
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
    cuts = []
    for place in (span.start, span.end):
        number = bisect_left(words, place, key=itemgetter(1))  # the first word that ends there or later
        if number < len(words) and words[number][0] < place < words[number][1]:
            cuts.append(place)
    return cuts


def check_range(span: CharacterSpan, text: str) -> None:
    """A span must lie inside its text, and hold at least one character."""
    if not 0 <= span.start < span.end <= len(text):
        problem = f"span {span.label} ({span.start}:{span.end}) does not fit into its text of {len(text)} characters."
        advice = "Starts count from 0, and an end is one past the last character."
        raise InputError(f"{problem} {advice}", line=span.place.line)


def check_overlaps(spans: Sequence[CharacterSpan], text: str) -> None:
    """One tag per word cannot hold two spans that overlap. `spans` are in order."""
    for before, after in pairwise(spans):
        if after.start < before.end:
            problem = f"spans {before.describe(text)} and {after.describe(text)} overlap; one tag per word cannot hold"
            lines = [span.place.line for span in (before, after) if span.place.line is not None]
            advice = f"Remove one, or pass {argument('skip_bad', True)}."
            raise InputError(f"{problem} both. {advice}", line=max(lines, default=None))


def _miss(span: CharacterSpan, touched: list[tuple[int, int]], text: str) -> str:
    policies = {"expand": "take in the cut words", "drop": "leave out the span"}
    if span.gaps:
        fault = "has gaps, which one tag per word cannot spell"
    elif not touched:
        fault = "covers no word"
    else:
        cut = [text[a:b] for a, b in touched if a < span.start or b > span.end]
        fault = f"misses word borders: it cuts {' and '.join(map(repr, cut))}"
        policies = {"split": "split the word"} | policies
    *first, last = [f"{argument('borders', policy)} ({what})" for policy, what in policies.items()]
    return f"span {span.describe(text)} {fault}. Mend it, or pass {', '.join(first)} or {last}."


_BEYOND_16_BITS = 0x10000


def in_characters(
    spans: list[CharacterSpan], text: str, fits: Callable[[Sequence[CharacterSpan]], bool], log: ReadingLog
) -> list[CharacterSpan]:
    """The spans by characters, where the file counts 16-bit units. They stay as they are if neither fits."""
    if not spans or not any(ord(character) >= _BEYOND_16_BITS for character in text) or fits(spans):
        return spans
    units = accumulate((1 + (ord(character) >= _BEYOND_16_BITS) for character in text), initial=0)
    position = {unit: character for character, unit in enumerate(units)}
    if not all(span.start in position and span.end in position for span in spans):
        return spans
    moved = [replace(span, start=position[span.start], end=position[span.end]) for span in spans]
    if not fits(moved):
        return spans
    log.count("records counted an emoji as two (16-bit units); their spans were moved to characters")
    return moved


def sentences_of_text(
    text: str,
    spans: Sequence[CharacterSpan] | None,
    log: ReadingLog,
    place: Place,
    document: str | None = None,
    words: Offsets | None = None,
    first_line: int | None = None,
    together: Sequence[CharacterSpan] = (),
) -> list[RawSentence]:
    """The sentences of one text. No sentence ends inside a span of `spans` or `together`.

    `words` come from formats with words of their own. `first_line` is the line of the file where the text begins, if
    the text is the file itself; otherwise all sentences stand at `place`. Nothing is noted in the log before an error.
    """
    check_characters(text)
    for span in spans or ():
        check_range(span, text)
    words = log.options.find_words(text) if words is None else words
    aligned = None if spans is None else align(spans, words, text, log.options.borders)
    words = words if aligned is None else aligned.words
    borders = find_sentences(text) if log.options.paragraphs else find_lines(text)
    whole = [*words, *((span.start, span.end) for span in (*(spans or ()), *together))]
    sentences: list[RawSentence] = []
    line, counted = place.line if first_line is None else first_line, 0
    for first, last in grouped(words, without_cuts(borders, whole)):
        if first_line is not None and line is not None:
            line, counted = line + text.count("\n", counted, words[first][0]), words[first][0]
        raw = RawSentence(
            words=[text[start:end] for start, end in words[first:last]],
            spans=None if aligned is None else spans_within(aligned.spans, first, last),
            lines=[line] * (last - first) if line is not None else (),
            text=text,
            offsets=words[first:last],
            document=document,
            file=place.file,
        )
        sentences.append(raw)
    if aligned is not None:
        log.border_misses.extend(aligned.misses)
        if aligned.twice:
            log.count("spans stood twice and were taken once", aligned.twice)
    if not sentences:
        log.count("texts hold no word and were left out")
    return sentences


def without_cuts(borders: Offsets, whole: Sequence[tuple[int, int]]) -> Offsets:
    """Join neighbouring stretches wherever something that must stay whole crosses from one into the next."""
    joined: Offsets = []
    reaching = sorted(whole)
    position, reach = 0, 0  # `reach`: the furthest end of everything that begins before the stretch
    for start, end in borders:
        while position < len(reaching) and reaching[position][0] < start:
            reach = max(reach, reaching[position][1])
            position += 1
        if joined and reach > start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def spans_within(spans: list[Span], first: int, last: int) -> list[Span]:
    """The spans, which are in order, of the words from `first` to `last`, counted from `first`."""
    begin, end = (bisect_left(spans, word, key=attrgetter("start")) for word in (first, last))
    return [Span(span.start - first, span.end - first, span.label) for span in spans[begin:end]]
