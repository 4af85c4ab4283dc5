"""JSON records, one per line or in one array, their fields checked by type, and the sentence that such fields give."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from acclimate.data.character_spans import CharacterSpan
from acclimate.data.problems import InputError, Place, shorten
from acclimate.data.readers.source import RawSentence, ReadingLog, Source, check_characters

Value = TypeVar("Value")
Fields = dict[str, Any]
_NAMES = {str: "a string", int: "a whole number", list: "a list", dict: "an object", bool: "true or false"}
_NOWHERE = Place()
_BLANK = " \t\r\n"
_BLANKS = re.compile(f"[{_BLANK}]*")


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object and the line on which it begins."""

    line: int
    fields: Fields
    spelled: str


def json_records(source: Source, log: ReadingLog) -> Iterator[Record]:
    """The records of a JSONL file, or of a file that is one JSON array."""
    lines = source.checked_lines(log)
    records = _from_array if source.text.lstrip(_BLANK).startswith("[") else _from_lines
    yield from records(source, lines, log)


def sentences_of_records(
    source: Source, log: ReadingLog, read: Callable[[Record, Place, ReadingLog], Iterable[RawSentence]]
) -> Iterator[RawSentence]:
    """The sentences that `read` finds in each record; a bad record is refused as a whole, with its line."""
    for record in json_records(source, log):
        with log.refusing(source.name, record.line, record.spelled):
            yield from read(record, Place(source.name, record.line), log)


def _from_lines(source: Source, lines: list[str], log: ReadingLog) -> Iterator[Record]:
    for number, line in enumerate(lines, start=source.first_line):
        if line.strip(_BLANK):
            with log.refusing(source.name, number, line):
                source.require_text(number)
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise InputError(f"this is no JSON ({error}). Each line must be one whole JSON object.") from error
                yield Record(number, expect(value, dict, "the record"), line)


def _from_array(source: Source, lines: list[str], log: ReadingLog) -> Iterator[Record]:
    """Element by element, since `json.load` would know only characters and not lines."""
    text, decoder = source.text, json.JSONDecoder()
    position, line = text.index("[") + 1, 1 + text.count("\n", 0, text.index("["))
    while True:
        start = _skip_blanks(text, position)
        line += text.count("\n", position, start)
        if text[start : start + 1] == "]":
            rest = _skip_blanks(text, start + 1)
            if rest < len(text):
                problem = "something follows behind the end of the JSON array; the file should be one array."
                advice = "If it is several arrays, join them, or put each record on a line of its own."
                at = line + text.count("\n", start, rest)
                raise InputError(f"{problem} {advice}", file=source.name, line=at, text=text[rest : rest + 200])
            return
        try:
            value, end = decoder.raw_decode(text, start)
            after = _skip_blanks(text, end)
            if text[after : after + 1] not in ("]", ","):
                raise ValueError("the array is not closed, or a comma is missing")
        except (ValueError, RecursionError) as error:
            # refused even where bad records are skipped: there is no telling where the next one would begin
            problem = f"this is no JSON ({error}). The file should be one whole JSON array of objects."
            advice = "Mend it, or put each record on a line of its own, without the array's brackets and commas."
            shown = text[start : start + 200]
            raise InputError(f"{problem} {advice}", file=source.name, line=line, text=shown) from error
        last = line + text.count("\n", start, end)
        with log.refusing(source.name, line, text[start:end]):
            for number in range(line, last + 1):
                source.require_text(number)
            yield Record(line, expect(value, dict, "the record"), text[start:end])
        position, line = after + (text[after] == ","), line + text.count("\n", start, after)


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def expect(value: object, kind: type[Value], what: str) -> Value:
    """The value, if it is of the right type; `true` is no number."""
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    raise InputError(f"{what} should be {_NAMES[kind]}, but is {as_json(value)}.")


def as_json(value: object) -> str:
    """A value as the file spells it, by its beginning."""
    return shorten(json.dumps(value, ensure_ascii=False, default=str), 60)


def expect_strings(value: object, what: str) -> list[str]:
    """The value, if it is a list of strings."""
    return [expect(item, str, f"item {number} of {what}") for number, item in enumerate(expect(value, list, what))]


def label_name(value: object) -> str:
    """A label: any string that is not blank."""
    name = expect(value, str, "a label")
    if not name.strip():
        raise InputError("a label is empty. Name it, or remove the span.")
    return name


def span_of(item: object, place: Place = _NOWHERE) -> CharacterSpan:
    """A span as an object with `start`, `end` and `label`."""
    fields = expect(item, dict, "a span")
    start, end = require(fields, "start", int, "the span"), require(fields, "end", int, "the span")
    return CharacterSpan(start, end, label_name(require(fields, "label", str, "the span")), place)


def require(fields: Fields, name: str, kind: type[Value], where: str = "the record") -> Value:
    """A field that has to be there."""
    if name not in fields:
        raise InputError(f"{where} has no {name!r}; it has {', '.join(map(repr, fields)) or 'nothing'}.")
    return expect(fields[name], kind, f"{name!r}")


def identifier(fields: Fields, *names: str) -> str | None:
    """The first of some fields that identifies the record, as a string."""
    return next((str(fields[name]) for name in names if isinstance(fields.get(name), str | int)), None)


def sentence_of_fields(
    words: object,
    tags: object,
    text: object = None,
    offsets: object = None,
    document: object = None,
    *,
    line: int | None = None,
    names: Sequence[str] | None = None,
) -> RawSentence:
    """Check the fields and make them a sentence. `names`: what the numbers mean where the tags are numbers."""
    word_list = expect_strings(words, "the words")
    if not word_list:
        raise InputError("the list of words is empty. A sentence needs at least one word.")
    for number, word in enumerate(word_list):
        check_characters(word)
        if not word:
            raise InputError(f"word {number} is empty.")
    tag_list = None if tags is None else _tags(tags, names)
    if tag_list is not None and len(tag_list) != len(word_list):
        raise InputError(f"{len(word_list)} words but {len(tag_list)} tags. Every word needs one tag.")
    raw = RawSentence(word_list, tag_list, lines=[line] * len(word_list) if line is not None else ())
    if text is not None:
        raw.text = expect(text, str, "the text")
        check_characters(raw.text)
    if offsets is not None:
        raw.offsets = _offsets(offsets, raw.text, word_list)
    if document is not None:
        raw.document = expect(document, str, "the document")
    return raw


def _tags(tags: object, names: Sequence[str] | None) -> list[str]:
    items = expect(tags, list, "the tags")
    if items and all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        if names is None:
            problem = "the tags are numbers, and nothing says what they mean. Write the tags by name (B-PER, O)."
            raise InputError(problem)
        if bad := [item for item in items if not 0 <= item < len(names)]:
            known = f"the names given are {', '.join(names)} (0 to {len(names) - 1})."
            raise InputError(f"tag {bad[0]} has no name; {known}")
        return [names[item] for item in items]
    strings = expect_strings(tags, "the tags")
    for number, tag in enumerate(strings):
        check_characters(tag)
        if not tag.strip():
            raise InputError(f"tag {number} is empty. Write O for a word outside of all spans.")
    return strings


def _offsets(offsets: object, text: str | None, words: list[str]) -> list[tuple[int, int]]:
    """The offsets, which must point at the words."""
    if text is None:
        raise InputError("there are offsets, but no text that they point into.")
    pairs = [expect(pair, list, "an offset") for pair in expect(offsets, list, "the offsets")]
    if len(pairs) != len(words):
        raise InputError(f"{len(words)} words but {len(pairs)} offsets. Every word needs its start and end.")
    checked: list[tuple[int, int]] = []
    for pair, word in zip(pairs, words, strict=True):
        if len(pair) != 2:
            raise InputError(f"an offset should be [start, end], but is {as_json(pair)}.")
        start, end = (expect(number, int, "an offset's number") for number in pair)
        reached = checked[-1][1] if checked else 0
        if not reached <= start < end <= len(text) or text[start:end] != word:
            problem = f"the offsets [{start}, {end}] do not point at {word!r} in the text, behind the word before."
            raise InputError(problem)
        checked.append((start, end))
    return checked
