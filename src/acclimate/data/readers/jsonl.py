"""Our own JSONL: `{"words": […], "tags": […]}`, and if it is known `text`, `offsets`, `document`, and `spans`.

`tokens` for words and `ner_tags` (of strings) for tags are read too. `spans` repeat the tags as offsets into the text.

Spans with scores or annotators are guesses: `{"text": "Anna left.", "spans": [{"start": 0, "end": 4, "label": "PER",
"score": 0.8, "annotator": "a"}], "annotators": ["a", "b"]}`. They count characters of the text, or words where there is
no text. `annotators` are all who annotated the text: b found no name. Guesses of several annotators are pooled.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from acclimate.data.character_spans import CharacterSpan, align, check_range, sentences_of_text, split_words_at
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.records import (
    Fields,
    Record,
    as_json,
    expect,
    expect_strings,
    identifier,
    json_records,
    require,
    sentence_of_fields,
    span_of,
)
from acclimate.data.readers.rows import ALL_TAGS, ALL_WORDS
from acclimate.data.readers.source import RawSentence, ReadingLog, ReadingOptions, Source
from acclimate.data.schemes import Span, spans_from_tags
from acclimate.data.soft_labels import Row, ScoredSpan, frozen, likeliest_tags, rows_of_spans

_UNNAMED = ""  # the name of an annotator who has none


def read_jsonl(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    records = list(json_records(source, log))
    occurring = {name for record in records for name in record.fields}
    asked = log.options.column  # the field that holds the tags, one for the whole file
    tags_name = next((name for name in ALL_TAGS if name in occurring), None) if asked is None else str(asked)
    has_guesses = any(is_guess(record.fields) for record in records)
    are_named = has_guesses and any(_names_annotators(record.fields) for record in records)
    guessed: list[Guessed] = []
    for record in records:
        with log.refusing(source.name, record.line, record.spelled):
            if has_guesses and (is_guess(record.fields) or tags_name not in record.fields):
                guessed += _guesses(record, tags_name, source.name, log, are_named)
            elif has_guesses:
                guessed.append((_sentence(record, tags_name, log), None))
            else:
                yield _sentence(record, tags_name, log)
    yield from pooled(guessed, log)


def _sentence(record: Record, tags_name: str | None, log: ReadingLog) -> RawSentence:
    fields = record.fields
    words = fields.get(_words_name(fields, log.options))
    if tags_name is not None and tags_name not in fields:
        has = ", ".join(map(repr, fields))
        raise InputError(f"the record has no {tags_name!r}; it has {has}. Write null for a sentence without tags.")
    tags = None if tags_name is None else fields[tags_name]
    text = fields.get("text") if "offsets" in fields else None  # a text without offsets could not be pointed into
    document = identifier(fields, "document", "id")
    raw = sentence_of_fields(words, tags, text, fields.get("offsets"), document, line=record.line)
    if fields.get("spans") is not None:
        _take_spans(raw, fields)
    return raw


def _words_name(fields: Fields, options: ReadingOptions) -> str:
    wanted = (str(options.words_column),) if options.words_column is not None else ALL_WORDS
    name = next((name for name in wanted if name in fields), None)
    if name is None:
        has = ", ".join(map(repr, fields)) or "nothing"
        raise InputError(f"the record has no words: expected a list under 'words' or 'tokens'; it has {has}.")
    return name


def _take_spans(raw: RawSentence, fields: Fields) -> None:
    """Spans over the text: the tags if there are none, and otherwise the same as the tags."""
    if raw.tags is None and fields["spans"] == []:
        raw.spans = []
        return
    if raw.text is None or raw.offsets is None:
        raise InputError("there are spans, but no text and offsets that they could point into.")
    spans = [span_of(item) for item in expect(fields["spans"], list, "'spans'")]
    for span in spans:
        check_range(span, raw.text)
    aligned = align(spans, raw.offsets, raw.text, "error").spans
    if raw.tags is None:
        raw.spans = aligned
    elif aligned != spans_from_tags(raw.tags):
        raise InputError("tags and spans disagree. Mend one of them, or remove the field 'spans'.")


@dataclass(frozen=True, slots=True)
class Guess:
    """A span as the file has it."""

    span: CharacterSpan
    score: float
    annotator: str


Guessed = tuple[RawSentence, dict[str, list[Row]] | None]
"""A sentence, and at each word the distribution of each annotator; None where no annotator is known."""


def _span_items(fields: Fields) -> list[Fields]:
    spans = fields.get("spans")
    return [item for item in spans if isinstance(item, dict)] if isinstance(spans, list) else []


def is_guess(fields: Fields) -> bool:
    """Whether a record has scores or annotators."""
    return "annotators" in fields or any(item.keys() & {"score", "annotator"} for item in _span_items(fields))


def _names_annotators(fields: Fields) -> bool:
    return bool(fields.get("annotators")) or any(item.get("annotator") for item in _span_items(fields))


def _guesses(record: Record, tags_name: str | None, file: str, log: ReadingLog, are_named: bool) -> list[Guessed]:
    """The sentences of one record. `are_named`: whether any record of the file names annotators."""
    fields, place = record.fields, Place(file, record.line)
    if fields.get(str(tags_name)) is not None:
        raise InputError(f"the record has guesses and {tags_name!r}. Remove one of them.")
    words_name = _words_name(fields, log.options)
    listed = None
    if fields.get("annotators") is not None:
        listed = list(dict.fromkeys(expect_strings(fields["annotators"], "'annotators'")))
    unnamed = listed[0] if listed is not None and len(listed) == 1 else _UNNAMED
    items = fields.get("spans")
    guesses = [_guess(item, unnamed) for item in expect([] if items is None else items, list, "'spans'")]
    annotators = _annotators_of(guesses, listed)
    if not annotators and items is not None and not are_named:
        annotators = [_UNNAMED]
    if not annotators:
        log.count("records name nobody who looked, and count as not annotated")
    text, document = fields.get("text"), identifier(fields, "document", "id")
    marks = [guess.span for guess in guesses]
    spans: list[Span | None] = [Span(mark.start, mark.end, mark.label) for mark in marks]
    if words_name == "text":
        text, borders = require(fields, "text", str), log.options.borders
        words = log.options.find_words(text)
        split = split_words_at(marks, words, text) if borders == "split" else words
        spans = [_over_words(mark, words, text, borders, log, split) for mark in marks]
        raws = sentences_of_text(text, None, log, place, document, split, together=marks)
    else:
        if text is not None and fields.get("offsets") is None:
            problem = "there are words and a text, but no offsets: do the spans count words, or characters of the text?"
            raise InputError(f"{problem} Add the offsets, or leave out the text or the words.")
        raws = [sentence_of_fields(fields[words_name], None, text, fields.get("offsets"), document, line=place.line)]
        if (offsets := raws[0].offsets) is not None and text is not None:
            spans = [_over_words(mark, offsets, text, "error", log, offsets) for mark in marks]
    return _by_sentence(raws, guesses, spans, annotators)


def _by_sentence(
    raws: Sequence[RawSentence], guesses: Sequence[Guess], spans: Sequence[Span | None], annotators: Sequence[str]
) -> list[Guessed]:
    """Give each guess to its sentence. `spans` are the guesses over the words of them all; None for one dropped."""
    starts = list(accumulate((len(raw.words) for raw in raws[:-1]), initial=0))
    own: list[dict[str, list[ScoredSpan]]] = [{name: [] for name in annotators} for _ in raws]
    for guess, span in zip(guesses, spans, strict=True):
        if span is not None:
            number = bisect_right(starts, span.start) - 1
            start, end = span.start - starts[number], span.end - starts[number]
            own[number][guess.annotator].append(ScoredSpan(start, end, span.label, guess.score))
    return [
        (raw, {name: rows_of_spans(some, len(raw.words)) for name, some in by_name.items()} or None)
        for raw, by_name in zip(raws, own, strict=True)
    ]


def _guess(item: object, unnamed: str) -> Guess:
    fields = expect(item, dict, "a span")
    score = fields.get("score", 1)
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise InputError(f"a score should be a number from 0 to 1, but is {as_json(score)}.")
    annotator = expect(fields.get("annotator") or unnamed, str, "'annotator'")
    return Guess(span_of(item), float(score), annotator)


def _annotators_of(guesses: Sequence[Guess], listed: list[str] | None) -> list[str]:
    """Who annotated the text: those listed, or else those with a guess."""
    names = list(dict.fromkeys(guess.annotator for guess in guesses))
    if listed is None:
        if len(names) > 1 and _UNNAMED in names:
            raise InputError("some spans name an annotator and others do not. Name one for each, or for none.")
        return names
    for name in names:
        if name not in listed:
            who = f"the annotator {name!r} of a span" if name else "a span without an annotator"
            raise InputError(f"{who} does not fit to 'annotators' ({', '.join(listed)}). Name all who looked there.")
    return listed


def _over_words(
    mark: CharacterSpan,
    words: Sequence[tuple[int, int]],
    text: str,
    borders: str,
    log: ReadingLog,
    split: Sequence[tuple[int, int]],
) -> Span | None:
    """A guess over words; None where it is dropped. `split`: the words, with those split that any guess cuts."""
    check_range(mark, text)
    log.border_misses.extend(align([mark], words, text, borders).misses)
    return next(iter(align([mark], split, text, borders).spans), None)


def pooled(sentences: Sequence[Guessed], log: ReadingLog) -> Iterator[RawSentence]:
    """The sentences with the guesses of all annotators as one distribution at each word."""
    known = [rows for _, rows in sentences if rows]
    if len({name for rows in known for name in rows}) > 1:
        from acclimate.data.votes import pool

        pooled_rows, log.annotators = pool(known)
        shown = ", ".join(map(str, log.annotators))
        what = f"annotators were pooled. By their agreement they are right with probability: {shown}"
        log.count(what, len(log.annotators))
    else:
        pooled_rows = [rows for one in known for rows in one.values()]
    ready = iter(pooled_rows)
    for raw, own in sentences:
        if own:
            rows = next(ready)
            raw.spans, raw.probabilities = spans_from_tags(likeliest_tags(rows)), frozen(rows)
        yield raw
