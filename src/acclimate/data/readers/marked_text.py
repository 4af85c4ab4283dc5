"""Text with marked stretches → sentences of words with spans: what doccano, Label Studio, Prodigy and brat share.

Each line of a text is a sentence; with `paragraphs=True` each line is split into sentences. A border that would cut
through a span is taken away: an annotator's mark outweighs a line end.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

from acclimate.data.borders import CharacterSpan, align, check_range
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.ledger import Found, Ledger, Request
from acclimate.data.schemes import Span
from acclimate.data.words import Offsets, find_blank_separated, find_lines, find_sentences, find_words


def find_words_as_asked(text: str, request: Request) -> Offsets:
    return find_blank_separated(text) if request.tokenize == "blanks" else find_words(text)


def sentences_of_text(
    text: str,
    spans: Sequence[CharacterSpan] | None,
    ledger: Ledger,
    place: Place,
    document: str | None = None,
    words: Offsets | None = None,
    first_line: int | None = None,
) -> list[Found]:
    """The sentences of one text. `words` are given by formats that bring their own.

    `first_line`: the line of the text's first line where the text is the file itself (brat); otherwise all sentences
    stand at `place`. Raises InputError before anything is noted, so that a skipped record leaves no trace but that.
    """
    check_characters(text)
    for span in spans or ():
        check_range(span, text)
    words = find_words_as_asked(text, ledger.request) if words is None else words
    aligned = None if spans is None else align(spans, words, text, ledger.request.borders)
    words = words if aligned is None else aligned.words
    borders = find_sentences(text) if ledger.request.paragraphs else find_lines(text)
    whole = [*words, *((span.start, span.end) for span in spans or ())]
    found: list[Found] = []
    line, counted = place.line if first_line is None else first_line, 0
    for first, last in grouped(words, without_cuts(borders, whole)):
        if first_line is not None and line is not None:
            line, counted = line + text.count("\n", counted, words[first][0]), words[first][0]
        one = Found(
            words=[text[start:end] for start, end in words[first:last]],
            spans=None if aligned is None else spans_within(aligned.spans, first, last),
            lines=[line] * (last - first) if line is not None else (),
            text=text,
            offsets=words[first:last],
            document=document,
            file=place.file,
        )
        found.append(one)
    if aligned is not None:
        ledger.border_misses.extend(aligned.misses)
        if aligned.twice:
            ledger.count("spans stood twice and were taken once", aligned.twice)
    if not found:
        ledger.count("texts hold no word and were left out")
    return found


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


def grouped(words: Offsets, borders: Offsets) -> Iterator[tuple[int, int]]:
    """Which words (from, to) make up each stretch: all that begin before the next stretch, so that none is left out."""
    position = 0
    ends: list[float] = [start for start, _ in borders[1:]]
    for end in (*ends, math.inf):
        first = position
        while position < len(words) and words[position][0] < end:
            position += 1
        if position > first:
            yield first, position


def spans_within(spans: list[Span], first: int, last: int) -> list[Span]:
    """The spans, which are in order, of the words from `first` to `last`, counted from `first`."""
    begin = bisect_left(spans, first, key=_start)
    end = bisect_left(spans, last, key=_start)
    return [Span(span.start - first, span.end - first, span.label) for span in spans[begin:end]]


_start = attrgetter("start")


def check_characters(text: str) -> None:
    """JSON can spell characters that no text file can hold and no tokenizer takes."""
    if "\0" in text:
        raise InputError("a NUL character in the text. Remove it where the text comes from.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"U+{ord(text[error.start]):04X}"
        problem = f"half of a surrogate pair ({half}) at character {error.start} of the text; it is no character."
        raise InputError(f"{problem} An emoji was cut in two where the text comes from; repair it there.") from None
