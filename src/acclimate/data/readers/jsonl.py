"""Our own JSONL: `{"words": […], "tags": […]}`, and if it is known `text`, `offsets`, `document`, and `spans`.

`tokens` for words and `ner_tags` (of strings) for tags are understood too. `spans` repeat the tags as offsets into the
text, for readers that want those; they must agree. Spans with scores are guesses (`guesses`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acclimate.data.character_spans import CharacterSpan, align, check_range
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.doccano import label_name
from acclimate.data.readers.guesses import GuessedSentence, guessed_sentences, is_guess, names_annotators, pooled
from acclimate.data.readers.records import Fields, Record, expect, identifier, json_records, require, sentence_of_fields
from acclimate.data.readers.rows import ALL_TAGS, ALL_WORDS
from acclimate.data.readers.source import RawSentence, ReadingLog, ReadingOptions, Source
from acclimate.data.schemes import spans_from_tags


def read_jsonl(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    records = list(json_records(source, log))
    tags_name = _tags_name(records, log.options)
    are_guesses = any(is_guess(record.fields) for record in records)
    are_named = are_guesses and any(names_annotators(record.fields) for record in records)
    guessed: list[GuessedSentence] = []
    for record in records:
        try:
            if are_guesses and (is_guess(record.fields) or tags_name not in record.fields):
                guessed += _guesses(record, tags_name, source.name, log, are_named)
                continue
            raw = _sentence(record, tags_name, log)
        except InputError as error:
            log.refuse(error, file=source.name, line=record.line, text=record.spelled)
        else:
            if are_guesses:
                guessed.append(GuessedSentence(raw, None))
            else:
                yield raw
    yield from pooled(guessed, log)


def _guesses(
    record: Record, tags_name: str | None, file: str, log: ReadingLog, are_named: bool
) -> list[GuessedSentence]:
    fields = record.fields
    if fields.get(str(tags_name)) is not None:
        raise InputError(f"the record has guesses and {tags_name!r}. Remove one of them.")
    name = _words_name(fields, log.options)
    words = None if name == "text" else fields[name]
    return guessed_sentences(fields, words, Place(file, record.line), log, are_named)


def _tags_name(records: Sequence[Record], options: ReadingOptions) -> str | None:
    """The field that holds the tags, one for the whole file."""
    if options.column is not None:
        return str(options.column)
    occurring = {name for record in records for name in record.fields}
    return next((name for name in ALL_TAGS if name in occurring), None)


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
    spans = [_span(item) for item in expect(fields["spans"], list, "'spans'")]
    for span in spans:
        check_range(span, raw.text)
    aligned = align(spans, raw.offsets, raw.text, "error").spans
    if raw.tags is None:
        raw.spans = aligned
    elif aligned != spans_from_tags(raw.tags):
        raise InputError("tags and spans disagree. Mend one of them, or remove the field 'spans'.")


def _span(item: object) -> CharacterSpan:
    fields = expect(item, dict, "a span")
    start, end = require(fields, "start", int, "the span"), require(fields, "end", int, "the span")
    return CharacterSpan(start, end, label_name(require(fields, "label", str, "the span")), Place())
