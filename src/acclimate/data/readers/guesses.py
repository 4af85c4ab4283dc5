"""Guesses in JSONL: spans, each with a score and, if there are several, the annotator who made it.

`{"text": "Anna left.", "spans": [{"start": 0, "end": 4, "label": "PER", "score": 0.8, "annotator": "a"}],
"annotators": ["a", "b"]}`. Spans count characters of the text; where there are words and no text, they count words.
`annotators` are all who looked: b says that there is no name. Guesses of several are pooled over the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from acclimate.data.character_spans import CharacterSpan, align, check_range, sentences_of_text, split_words_at
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.doccano import label_name
from acclimate.data.readers.records import (
    Fields,
    as_json,
    expect,
    expect_strings,
    identifier,
    require,
    sentence_of_fields,
)
from acclimate.data.readers.source import RawSentence, ReadingLog
from acclimate.data.schemes import spans_from_tags
from acclimate.data.soft_labels import Row, ScoredSpan, frozen, likeliest_tags, rows_of_spans
from acclimate.data.words import Offsets

_NOBODY = ""  # the name of an annotator who has none


@dataclass(frozen=True, slots=True)
class Guess:
    """A span as the file has it."""

    start: int
    end: int
    label: str
    score: float
    annotator: str


@dataclass(slots=True)
class GuessedSentence:
    """A sentence and its words' distributions by annotator; None where nobody is known to have looked."""

    raw: RawSentence
    rows: dict[str, list[Row]] | None


def is_guess(fields: Fields) -> bool:
    """Whether a record says how sure somebody is, or who guessed."""
    spans = fields.get("spans")
    items = spans if isinstance(spans, list) else ()
    return "annotators" in fields or any(
        isinstance(item, dict) and item.keys() & {"score", "annotator"} for item in items
    )


def names_annotators(fields: Fields) -> bool:
    """Whether a record says who guessed or looked. Where any does, silence counts only of those who are named."""
    spans = fields.get("spans")
    items = spans if isinstance(spans, list) else ()
    return bool(fields.get("annotators")) or any(isinstance(item, dict) and item.get("annotator") for item in items)


def guessed_sentences(
    fields: Fields, words: object, place: Place, log: ReadingLog, are_named: bool
) -> list[GuessedSentence]:
    """The sentences of one record. `are_named`: whether any record of the file names annotators."""
    listed = None
    if fields.get("annotators") is not None:
        listed = list(dict.fromkeys(expect_strings(fields["annotators"], "'annotators'")))
    nobody = listed[0] if listed is not None and len(listed) == 1 else _NOBODY
    spans = fields.get("spans")
    guesses = [_guess(item, nobody) for item in expect([] if spans is None else spans, list, "'spans'")]
    looked = _checked(listed, guesses) if listed is not None else _guessing(guesses)
    if not looked and spans is not None and not are_named:
        looked = [_NOBODY]
    if not looked:
        log.count("records name nobody who looked, and count as not annotated")
    document = identifier(fields, "document", "id")
    if words is None:
        return _of_text(require(fields, "text", str), guesses, looked, place, document, log)
    text = fields.get("text")
    if text is not None and fields.get("offsets") is None:
        problem = "there are words and a text, but no offsets: do the spans count words, or characters of the text?"
        raise InputError(f"{problem} Add the offsets, or leave out the text or the words.")
    raw = sentence_of_fields(words, None, text, fields.get("offsets"), document, line=place.line)
    scored: list[ScoredSpan | None] = [
        ScoredSpan(guess.start, guess.end, guess.label, guess.score) for guess in guesses
    ]
    if raw.text is not None and raw.offsets is not None:
        scored = [_over_words(guess, raw.offsets, raw.text, "error", log) for guess in guesses]
    return [GuessedSentence(raw, _rows(guesses, scored, looked, len(raw.words)))]


def pooled(sentences: Sequence[GuessedSentence], log: ReadingLog) -> Iterator[RawSentence]:
    """The sentences with the guesses of all annotators as one distribution at each word."""
    known = [sentence.rows for sentence in sentences if sentence.rows]
    if len({name for rows in known for name in rows}) > 1:
        from acclimate.data.pooling import pool

        made, log.annotators = pool(known)
        found = ", ".join(map(str, log.annotators))
        what = f"annotators were pooled. By their agreement they are right with probability: {found}"
        log.count(what, len(log.annotators))
    else:
        made = [rows for one in known for rows in one.values()]
    ready = iter(made)
    for sentence in sentences:
        if sentence.rows:
            rows = next(ready)
            sentence.raw.spans, sentence.raw.probabilities = spans_from_tags(likeliest_tags(rows)), frozen(rows)
        yield sentence.raw


def _guess(item: object, nobody: str) -> Guess:
    fields = expect(item, dict, "a span")
    start, end = require(fields, "start", int, "the span"), require(fields, "end", int, "the span")
    score = fields.get("score", 1)
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise InputError(f"a score should be a number from 0 to 1, but is {as_json(score)}.")
    annotator = expect(fields.get("annotator") or nobody, str, "'annotator'")
    return Guess(start, end, label_name(require(fields, "label", str, "the span")), float(score), annotator)


def _guessing(guesses: Sequence[Guess]) -> list[str]:
    """Who guessed, where nobody says who looked."""
    names = list(dict.fromkeys(guess.annotator for guess in guesses))
    if len(names) > 1 and _NOBODY in names:
        raise InputError("some spans name an annotator and others do not. Name one for each, or for none.")
    return names


def _checked(listed: list[str], guesses: Sequence[Guess]) -> list[str]:
    """Who looked, which all who guessed did."""
    for guess in guesses:
        if guess.annotator not in listed:
            who = f"the annotator {guess.annotator!r} of a span" if guess.annotator else "a span without an annotator"
            raise InputError(f"{who} does not fit to 'annotators' ({', '.join(listed)}). Name all who looked there.")
    return listed


def _rows(
    guesses: Sequence[Guess], spans: Sequence[ScoredSpan | None], looked: Sequence[str], length: int
) -> dict[str, list[Row]] | None:
    """The distributions of each annotator's own spans. `spans` are the guesses over words; None for one elsewhere."""
    own: dict[str, list[ScoredSpan]] = {name: [] for name in looked}
    for guess, span in zip(guesses, spans, strict=True):
        if span is not None:
            own[guess.annotator].append(span)
    return {name: rows_of_spans(spans, length) for name, spans in own.items()} or None


def _over_words(
    guess: Guess,
    words: Sequence[tuple[int, int]],
    text: str,
    borders: str,
    log: ReadingLog,
    split: Offsets | None = None,
) -> ScoredSpan | None:
    """A guess over words, alone: those of others may overlap it. `split` are the words with every one cut that a guess
    cuts. None where it was dropped."""
    span = CharacterSpan(guess.start, guess.end, guess.label)
    check_range(span, text)
    aligned = align([span], words, text, borders)
    log.border_misses.extend(aligned.misses)
    found = aligned.spans if split is None else align([span], split, text, borders).spans
    return ScoredSpan(found[0].start, found[0].end, guess.label, guess.score) if found else None


def _of_text(
    text: str, guesses: Sequence[Guess], looked: Sequence[str], place: Place, document: str | None, log: ReadingLog
) -> list[GuessedSentence]:
    """The sentences of a text. No sentence ends inside a guess."""
    words, borders = log.options.find_words(text), log.options.borders
    marks = [CharacterSpan(guess.start, guess.end, guess.label) for guess in guesses]
    split = split_words_at(marks, words, text) if borders == "split" else words
    scored = [_over_words(guess, words, text, borders, log, split) for guess in guesses]
    raws = sentences_of_text(text, None, log, place, document, split, together=marks)
    ends = list(accumulate((len(raw.words) for raw in raws), initial=0))
    found: list[GuessedSentence] = []
    for raw, (first, last) in zip(raws, pairwise(ends), strict=True):
        here = [
            ScoredSpan(span.start - first, span.end - first, span.label, span.score)
            if span is not None and first <= span.start < last
            else None
            for span in scored
        ]
        found.append(GuessedSentence(raw, _rows(guesses, here, looked, len(raw.words))))
    return found
