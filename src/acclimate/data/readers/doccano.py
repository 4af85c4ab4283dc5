"""doccano's JSONL: `{"text", "label": [[start, end, name], …]}`, or with `entities` of offsets and labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acclimate.data.character_spans import CharacterSpan, in_characters, sentences_of_text
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.records import Fields, Record, as_json, expect, identifier, json_records, require
from acclimate.data.readers.source import RawSentence, ReadingLog, Source

_LABEL_FIELDS = ("entities", "label", "labels")


def read_doccano(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    records = list(json_records(source, log))
    labelled = any(name in record.fields for record in records for name in _LABEL_FIELDS)
    for record in records:
        try:
            sentences = _sentences(record, source.name, labelled, log)
        except InputError as error:
            log.refuse(error, file=source.name, line=record.line, text=record.spelled)
        else:
            yield from sentences


def _sentences(record: Record, file: str, labelled: bool, log: ReadingLog) -> list[RawSentence]:
    text = require(record.fields, "text", str)
    place = Place(file, record.line)
    spans = None
    name = _label_field(record.fields)
    if name is not None:
        spans = [_span(item, place) for item in expect(record.fields[name], list, f"{name!r}")]
        spans = _by_characters(spans, text, log)
    elif labelled:
        allowed = "'label' or 'entities'"
        raise InputError(f"the record has no {allowed}, but others have. Give an empty list if it has no span.")
    return sentences_of_text(text, spans, log, place, identifier(record.fields, "document", "id"))


def _label_field(fields: Fields) -> str | None:
    """The field that holds the labels. A record may have several, of which all but one are empty."""
    given = [name for name in _LABEL_FIELDS if name in fields]
    filled = [name for name in given if fields[name]]
    if len(filled) > 1:
        both = " and ".join(map(repr, filled))
        raise InputError(f"the record has labels under {both}; which ones count? Remove the others.")
    return next(iter(filled or given), None)


def _span(item: object, place: Place) -> CharacterSpan:
    if isinstance(item, dict):
        start, end, label = (require(item, name, kind, "the entity") for name, kind in _ENTITY.items())
    elif isinstance(item, list) and len(item) == 3:
        start, end, label = item
    else:
        raise InputError(
            f"a label should be [start, end, name] or an object with {', '.join(_ENTITY)}, but is {as_json(item)}."
        )
    return CharacterSpan(expect(start, int, "a start"), expect(end, int, "an end"), label_name(label), place)


_ENTITY: dict[str, type[object]] = {"start_offset": int, "end_offset": int, "label": str}


def label_name(value: object) -> str:
    """A label: any string with something in it."""
    name = expect(value, str, "a label")
    if not name.strip():
        raise InputError("a label is empty. Name it, or remove the span.")
    return name


def _by_characters(spans: list[CharacterSpan], text: str, log: ReadingLog) -> list[CharacterSpan]:
    """doccano says nothing but offsets, so the words have to tell which kind they are."""
    words = log.options.find_words(text)
    starts, ends = {start for start, _ in words}, {end for _, end in words}

    def fits(some: Sequence[CharacterSpan]) -> bool:
        return all(span.start in starts and span.end in ends for span in some)

    spans, moved = in_characters(spans, text, fits)
    if moved:
        log.count("records counted an emoji as two (16-bit units); their spans were moved to characters")
    return spans
