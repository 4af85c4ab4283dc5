"""Our own JSONL: `{"words": […], "tags": […]}`, and if it is known `text`, `offsets`, `document`, and `spans`.

`tokens` for words and `ner_tags` (of strings) for tags are understood too. `spans` repeat the tags as offsets into the
text, for readers that want those; they must agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acclimate.data.character_spans import CharacterSpan, align, check_range
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.doccano import label_name
from acclimate.data.readers.records import Fields, Record, expect, identifier, json_records, require, sentence_of_fields
from acclimate.data.readers.rows import ALL_TAGS, ALL_WORDS
from acclimate.data.readers.source import Found, Ledger, Request, Source
from acclimate.data.schemes import spans_from_tags


def read_jsonl(source: Source, ledger: Ledger) -> Iterator[Found]:
    records = list(json_records(source, ledger))
    tags_name = _tags_name(records, ledger.request)
    for record in records:
        try:
            found = _sentence(record, tags_name, ledger)
        except InputError as error:
            ledger.refuse(error, file=source.name, line=record.line, text=record.spelled)
        else:
            yield found


def _tags_name(records: Sequence[Record], request: Request) -> str | None:
    """The field that holds the tags, one for the whole file."""
    if request.column is not None:
        return str(request.column)
    occurring = {name for record in records for name in record.fields}
    return next((name for name in ALL_TAGS if name in occurring), None)


def _sentence(record: Record, tags_name: str | None, ledger: Ledger) -> Found:
    fields = record.fields
    words = fields.get(_words_name(fields, ledger.request))
    if tags_name is not None and tags_name not in fields:
        has = ", ".join(map(repr, fields))
        raise InputError(f"the record has no {tags_name!r}; it has {has}. Write null for a sentence without tags.")
    tags = None if tags_name is None else fields[tags_name]
    text = fields.get("text") if "offsets" in fields else None  # a text without offsets could not be pointed into
    document = identifier(fields, "document", "id")
    found = sentence_of_fields(words, tags, text, fields.get("offsets"), document, line=record.line)
    if fields.get("spans") is not None:
        _take_spans(found, fields)
    return found


def _words_name(fields: Fields, request: Request) -> str:
    wanted = (str(request.words_column),) if request.words_column is not None else ALL_WORDS
    name = next((name for name in wanted if name in fields), None)
    if name is None:
        has = ", ".join(map(repr, fields)) or "nothing"
        raise InputError(f"the record has no words: expected a list under 'words' or 'tokens'; it has {has}.")
    return name


def _take_spans(found: Found, fields: Fields) -> None:
    """Spans over the text: the tags if there are none, and otherwise the same as the tags."""
    if found.text is None or found.offsets is None:
        raise InputError("there are spans, but no text and offsets that they could point into.")
    spans = [_span(item) for item in expect(fields["spans"], list, "'spans'")]
    for span in spans:
        check_range(span, found.text)
    aligned = align(spans, found.offsets, found.text, "error").spans
    if found.tags is None:
        found.spans = aligned
    elif aligned != spans_from_tags(found.tags):
        raise InputError("tags and spans disagree. Mend one of them, or remove the field 'spans'.")


def _span(item: object) -> CharacterSpan:
    fields = expect(item, dict, "a span")
    start, end = require(fields, "start", int, "the span"), require(fields, "end", int, "the span")
    return CharacterSpan(start, end, label_name(require(fields, "label", str, "the span")), Place())
