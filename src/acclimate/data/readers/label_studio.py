"""Label Studio's exports: JSON (whole tasks) and JSON_MIN, as one array or as JSONL.

Of several annotations of a task the first that was not cancelled is taken. Results that mark no text (choices,
relations) are counted in the remarks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acclimate.data.character_spans import CharacterSpan, in_characters, sentences_of_text
from acclimate.data.problems import InputError, Place, shorten
from acclimate.data.readers.doccano import label_name
from acclimate.data.readers.records import Fields, Record, as_json, expect, identifier, require, sentences_of_records
from acclimate.data.readers.source import RawSentence, ReadingLog, Source


@dataclass(frozen=True, slots=True)
class _Region:
    """A marked stretch, and the text that the tool says it holds."""

    span: CharacterSpan
    noted: str | None


def read_label_studio(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    return sentences_of_records(source, log, _sentences)


def _sentences(record: Record, place: Place, log: ReadingLog) -> list[RawSentence]:
    task = record.fields
    if "data" in task:
        data = require(task, "data", dict)
        values = _values(task, log)
    else:
        data = task
        values = _minimal_values(task)
    text = _text(data)
    spans = None
    if values is not None:
        spans = _by_characters([_region(value, place) for value in values], text, log)
    document = identifier(data, "document") or identifier(task, "id")
    return sentences_of_text(text, spans, log, place, document)


def _text(data: Fields) -> str:
    """The task's text: its field is named in the project's configuration, which an export does not contain."""
    if "text" in data:
        return require(data, "text", str)
    strings = [name for name, value in data.items() if isinstance(value, str) and name != "document"]
    if len(strings) != 1:
        raise InputError(
            f"no field 'text' among the task's data ({', '.join(map(repr, data)) or 'none'}). Rename the field."
        )
    return str(data[strings[0]])


def _values(task: Fields, log: ReadingLog) -> list[Fields] | None:
    """The marked stretches of a task's first good annotation; None if nobody has annotated it."""
    name = "completions" if "completions" in task else "annotations"  # the older name
    annotations = [expect(one, dict, "an annotation") for one in expect(task.get(name, []), list, f"{name!r}")]
    good = [one for one in annotations if not one.get("was_cancelled")]
    if len(good) < len(annotations):
        log.count("cancelled annotations were passed over", len(annotations) - len(good))
    if not good:
        log.count("tasks have no annotation and were read as unlabelled")
        return None
    if len(good) > 1:
        log.count("tasks have several annotations, of which the first was taken")
    results = [expect(one, dict, "a result") for one in require(good[0], "result", list, "the annotation")]
    marked = [one for one in results if one.get("type", "labels") == "labels"]
    types = [str(one.get("type", "labels")) for one in results]
    if other := [type for type in types if type != "labels" and type.endswith("labels")]:
        problem = f"results of type {other[0]!r} mark something else than plain text, and would be lost."
        raise InputError(f"{problem} Annotate with <Labels> on a <Text>, or remove them.")
    if len(marked) < len(results):
        log.count("results that mark no text (choices, relations …) were passed over", len(results) - len(marked))
    return [require(one, "value", dict, "the result") for one in marked]


def _minimal_values(task: Fields) -> list[Fields] | None:
    """JSON_MIN: the marks stand in the task itself, under the name of the control that made them."""
    lists = [value for value in task.values() if isinstance(value, list) and _is_marks(value)]
    if len(lists) > 1:
        raise InputError("the record has several lists of labels. Export from Label Studio as JSON, not as JSON_MIN.")
    if lists:
        return [expect(one, dict, "a label") for one in lists[0]]
    if "annotator" in task or "annotation_id" in task:
        return []  # annotated, and nothing was found
    if unread := [name for name, value in task.items() if isinstance(value, list) and value]:
        raise InputError(f"{', '.join(map(repr, unread))} holds no labels with 'start', 'end' and 'labels'.")
    return None


def _is_marks(value: list[object]) -> bool:
    return bool(value) and all(isinstance(one, dict) and "start" in one and "labels" in one for one in value)


def _region(value: Fields, place: Place) -> _Region:
    labels = require(value, "labels", list, "the label's value")
    if len(labels) != 1:
        raise InputError(f"a span carries {len(labels)} labels ({as_json(labels)}); one tag per word can hold one.")
    start, end = require(value, "start", int, "the label's value"), require(value, "end", int, "the label's value")
    noted = expect(value["text"], str, "a label's 'text'") if value.get("text") is not None else None
    return _Region(CharacterSpan(start, end, label_name(labels[0]), place), noted)


def _by_characters(regions: list[_Region], text: str, log: ReadingLog) -> list[CharacterSpan]:
    """Older versions counted 16-bit units; the text that the tool noted for each span tells."""
    noted = [region.noted for region in regions]

    def fits(some: Sequence[CharacterSpan]) -> bool:
        return all(_agrees(span, text, note) for span, note in zip(some, noted, strict=True))

    spans, moved = in_characters([region.span for region in regions], text, fits)
    if moved:
        log.count("records counted an emoji as two (16-bit units); their spans were moved to characters")
    for span, note in zip(spans, noted, strict=True):
        if 0 <= span.start < span.end <= len(text) and not _agrees(span, text, note):
            problem = f"span {span.describe(text)} should hold {shorten(note or '', 60)!r}, as the export says itself."
            raise InputError(
                f"{problem} The text was changed after it was annotated, or the offsets count something else."
            )
    return spans


def _agrees(span: CharacterSpan, text: str, noted: str | None) -> bool:
    """White space is compared loosely: Label Studio notes a line end as `\\n`, spelled out."""
    if not 0 <= span.start < span.end <= len(text):
        return False
    marked = text[span.start : span.end].split()
    return noted is None or marked in (noted.split(), noted.replace("\\n", "\n").split())
